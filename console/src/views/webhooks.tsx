// Webhooks with their deliveries. A new secret is shown once.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { deliveriesQuery, refreshWebhooks, webhooksQuery } from '../api/webhooks.ts'
import type { components } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Labelled } from '../ui/labelled.tsx'
import { Answer, Empty, Failure } from '../ui/states.tsx'
import { Code, When } from '../ui/text.tsx'

type Webhook = components['schemas']['WebhookList']['webhooks'][number]

const path = (id: string) => ({ params: { path: { webhook_id: id } } })

export function Webhooks() {
  const webhooks = useQuery(webhooksQuery)
  const [opened, setOpened] = useState<string | null>(null)
  const [removed, setRemoved] = useState<Webhook | null>(null)
  const remove = async (id: string) => {
    await api.DELETE('/v1/webhooks/{webhook_id}', path(id))
    await refreshWebhooks()
  }
  return (
    <>
      <h2>Webhooks</h2>
      <NewWebhook />
      <Answer query={webhooks} what="the webhooks">
        {(all) =>
          all.length === 0 ? (
            <Empty>No webhook: nobody is told when a job moves.</Empty>
          ) : (
            <ul className="answers">
              {all.map((webhook) => (
                <li key={webhook.id} className="right">
                  <p className="text">
                    <strong>{webhook.url}</strong> {webhook.description}
                  </p>
                  <div className="buttons">
                    <button
                      type="button"
                      aria-expanded={opened === webhook.id}
                      onClick={() => setOpened(opened === webhook.id ? null : webhook.id)}
                    >
                      Deliveries
                    </button>
                    <button type="button" className="danger" onClick={() => setRemoved(webhook)}>
                      Delete
                    </button>
                  </div>
                  {opened === webhook.id && <Deliveries id={webhook.id} />}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {removed && (
        <Confirm
          title="Delete this webhook?"
          action="Delete"
          isDangerous
          act={() => remove(removed.id)}
          close={() => setRemoved(null)}
        >
          <p>{removed.url} gets no further messages; those that wait are dropped.</p>
        </Confirm>
      )}
    </>
  )
}

function NewWebhook() {
  const [url, setUrl] = useState('')
  const make = useMutation({
    mutationFn: () => api.POST('/v1/webhooks', { body: { url } }),
    onSuccess: async () => {
      setUrl('')
      await refreshWebhooks()
    },
  })
  const secret = make.data?.secret
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault()
        make.mutate()
      }}
    >
      <Labelled name="Address that gets a signed message about every move of a job">
        <input
          type="url"
          required
          size={40}
          placeholder="https://example.com/hooks"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
      </Labelled>
      <button type="submit" disabled={make.isPending}>
        Add
      </button>
      {secret && (
        <div className="notice">
          Its secret, shown only now:
          <Code text={secret} />
        </div>
      )}
      {make.error && <Failure error={make.error} />}
    </form>
  )
}

function Deliveries({ id }: { id: string }) {
  const deliveries = useQuery(deliveriesQuery(id))
  const resend = useMutation({
    mutationFn: (deliveryId: string) =>
      api.POST('/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay', {
        params: { path: { webhook_id: id, delivery_id: deliveryId } },
      }),
    onSettled: refreshWebhooks,
  })
  return (
    <Answer query={deliveries} what="the deliveries">
      {(all) =>
        all.length === 0 ? (
          <Empty>Nothing was sent yet.</Empty>
        ) : (
          <table className="list">
            <tbody>
              {all.map((delivery) => (
                <tr key={delivery.id}>
                  <td>
                    <When at={delivery.event.timestamp} />
                  </td>
                  <td>{delivery.event.type}</td>
                  <td>{delivery.state}</td>
                  <td>
                    {delivery.state !== 'pending' && (
                      <button type="button" disabled={resend.isPending} onClick={() => resend.mutate(delivery.id)}>
                        Send again
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Answer>
  )
}
