// Webhooks with their deliveries. A new secret is shown once.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { deliveriesQuery, refreshWebhooks, webhooksQuery } from '../api/webhooks.ts'
import type { components } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Labelled } from '../ui/labelled.tsx'
import { Answer, Empty, Failure } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Code, When } from '../ui/text.tsx'
import { toast } from '../ui/toast.tsx'

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
      <NewWebhook />
      <Answer query={webhooks} what="the webhooks">
        {(all) =>
          all.length === 0 ? (
            <Empty>
              <p>No webhook yet. An address that you add gets a signed message about every move of a job.</p>
            </Empty>
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
          done="Deleted the webhook"
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
      toast('Added the webhook')
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
      <button type="submit" className="primary" disabled={make.isPending}>
        Add webhook
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
    onSuccess: () => toast('Sent the delivery again'),
    onSettled: refreshWebhooks,
  })
  return (
    <Answer query={deliveries} what="the deliveries">
      {(all) =>
        all.length === 0 ? (
          <Empty>Nothing was sent yet.</Empty>
        ) : (
          <Table
            label="Deliveries"
            isDense
            rows={all}
            keyOf={(delivery) => delivery.id}
            columns={[
              { name: 'When', cell: ({ event }) => <When at={event.timestamp} /> },
              { name: 'Event', cell: ({ event }) => event.type },
              { name: 'State', cell: ({ state }) => state },
              {
                name: '',
                cell: ({ id: deliveryId, state }) =>
                  state !== 'pending' && (
                    <div className="buttons">
                      <button type="button" disabled={resend.isPending} onClick={() => resend.mutate(deliveryId)}>
                        Send again
                      </button>
                    </div>
                  ),
              },
            ]}
          />
        )
      }
    </Answer>
  )
}
