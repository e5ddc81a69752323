// The keys of the account: made, rotated and revoked here. A new key is shown once.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { keysQuery, refreshKeys, sessionQuery } from '../api/account.ts'
import { useSession } from '../api/session.ts'
import type { components } from '../api/types.ts'
import { parseTime } from '../domain/format.ts'
import { descendantsOf, endOf, lifetimes, lifetimesUntil, type Lifetime } from '../domain/key-life.ts'
import { Chip } from '../ui/chip.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { Answer, Failure, Loading } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Code, When } from '../ui/text.tsx'
import { toast } from '../ui/toast.tsx'

type Key = components['schemas']['ApiKey']
type Made = { name: string; secret: string }

const pathOf = ({ id }: Key) => ({ path: { key_id: id } })

export function Keys() {
  const [showsEnded, setShowsEnded] = useState(false)
  const [rotated, setRotated] = useState<Key | null>(null)
  const [revoked, setRevoked] = useState<Key | null>(null)
  const [made, setMade] = useState<Made | null>(null)
  const own = useSession()?.keyId
  const keys = useQuery(keysQuery)
  const session = useQuery(sessionQuery)
  const now = new Date()
  // The form says when the session ends its keys, and would push the table down.
  if (session.isPending) return <Loading what="the keys" />
  return (
    <>
      <NewKey done={setMade} />
      {made && (
        <div className="notice" role="status">
          The key “{made.name}”, shown only now:
          <Code text={made.secret} />
        </div>
      )}
      <label className="inline">
        <input type="checkbox" checked={showsEnded} onChange={() => setShowsEnded(!showsEnded)} /> Show revoked and
        expired keys
      </label>
      <Answer query={keys} what="the keys">
        {(all) => (
          <Table
            label="Keys"
            rows={all.map((key) => ({ ...key, end: endOf(key, now) })).filter(({ end }) => showsEnded || !end.isOver)}
            keyOf={({ id }) => id}
            columns={[
              {
                name: 'Name',
                isHead: true,
                className: 'text',
                cell: ({ id, name, maker_key_id: maker }) => (
                  <>
                    {name} {id === own && <Chip tone="runs">this session</Chip>}
                    {maker && (
                      <div className="quiet small">
                        made by <span title={maker}>{all.find((key) => key.id === maker)?.name ?? maker}</span>
                      </div>
                    )}
                  </>
                ),
              },
              { name: 'Id', className: 'wide', cell: ({ id }) => <code>{id}</code> },
              { name: 'Scopes', className: 'medium', cell: ({ scopes }) => scopes.join(', ') },
              {
                name: 'Last used',
                className: 'medium',
                cell: ({ last_used_at: at }) => (at ? <When at={at} as="age" /> : 'never'),
              },
              {
                name: 'Ends',
                cell: ({ end }) => (
                  <>
                    {end.word} {end.at && <When at={end.at} />}
                  </>
                ),
              },
              {
                name: '',
                cell: (key) =>
                  !key.end.isOver && (
                    <div className="buttons">
                      {!key.person && (
                        <button type="button" onClick={() => setRotated(key)}>
                          Rotate
                        </button>
                      )}
                      <button type="button" className="danger" onClick={() => setRevoked(key)}>
                        Revoke
                      </button>
                    </div>
                  ),
              },
            ]}
          />
        )}
      </Answer>
      {rotated && <Rotate of={rotated} done={setMade} close={() => setRotated(null)} />}
      {revoked && <Revoke of={revoked} isOwn={revoked.id === own} close={() => setRevoked(null)} />}
    </>
  )
}

function Revoke({ of, isOwn, close }: { of: Key; isOwn: boolean; close: () => void }) {
  const [takesMade, setTakesMade] = useState(false)
  const made = descendantsOf(of.id, useQuery(keysQuery).data ?? [], new Date())
  return (
    <Confirm
      title={`Revoke the key “${of.name}”?`}
      action="Revoke"
      isDangerous
      done={`Revoked the key “${of.name}”`}
      act={async () => {
        await api.DELETE('/v1/keys/{key_id}', { params: { ...pathOf(of), query: { descendants: takesMade } } })
        await refreshKeys()
      }}
      close={close}
    >
      <p>Within a second every request with it is refused, and its sessions of the console end, for good.</p>
      {of.person && (
        <p>
          The key stands for a person. Who may sign in again is decided by the identity provider: take the person out of
          the group there as well.
        </p>
      )}
      {isOwn && <p>You are signed in with this key, so you will be signed out.</p>}
      {made.length > 0 && (
        <label className="inline">
          <input type="checkbox" checked={takesMade} onChange={() => setTakesMade(!takesMade)} /> Also revoke the keys
          that were made with it: {made.map(({ name }) => `“${name}”`).join(', ')}
        </label>
      )}
    </Confirm>
  )
}

function NewKey({ done }: { done: (made: Made) => void }) {
  const own = useSession()?.scopes ?? []
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly string[]>(['read'])
  const [lifetime, setLifetime] = useState<Lifetime>('never')
  const endsAt = useQuery(sessionQuery).data?.keys_end_at
  const latest = endsAt == null ? null : parseTime(endsAt)
  const make = useMutation({
    mutationFn: () => {
      const seconds = lifetimes[lifetime]
      const expiresAt = seconds === null ? null : new Date(Date.now() + seconds * 1000).toISOString()
      return api.POST('/v1/keys', { body: { name, scopes: scopes as Key['scopes'], expires_at: expiresAt } })
    },
    onSuccess: async (key) => {
      done({ name: key.name, secret: key.key })
      toast(`Created the key “${key.name}”`)
      setName('')
      await refreshKeys()
    },
  })
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault()
        make.mutate()
      }}
    >
      <Labelled name="Name of a new key">
        <input required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </Labelled>
      <fieldset>
        <legend>Scopes</legend>
        {own.map((scope) => (
          <label key={scope} className="inline choice">
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={({ target }) =>
                setScopes(target.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
              }
            />{' '}
            {scope}
          </label>
        ))}
      </fieldset>
      <Choice
        label="Expires"
        value={lifetime}
        values={lifetimesUntil(latest, new Date())}
        textOf={(each) => (each === 'never' && latest ? 'with its maker' : each)}
        onChange={setLifetime}
      />
      <button type="submit" className="primary" disabled={make.isPending || scopes.length === 0}>
        Create key
      </button>
      {latest && (
        <p className="quiet">
          A key that is made here ends with this session at the latest, at <When at={latest} />. For one that lasts
          longer, send <code>POST /v1/keys</code> with an API key, or ask the operator.
        </p>
      )}
      {make.error && <Failure error={make.error} />}
    </form>
  )
}

const overlaps = { 'a day': 86_400, 'an hour': 3600, 'no time': 0 } as const
type Overlap = keyof typeof overlaps

function Rotate({ of, done, close }: { of: Key; done: (made: Made) => void; close: () => void }) {
  const [overlap, setOverlap] = useState<Overlap>('a day')
  return (
    <Confirm
      title={`Rotate the key “${of.name}”?`}
      action="Rotate"
      done={`Rotated the key “${of.name}”`}
      act={async () => {
        const body = { overlap_seconds: overlaps[overlap] }
        const made = await api.POST('/v1/keys/{key_id}/rotate', { params: pathOf(of), body })
        done({ name: made.name, secret: made.key })
        await refreshKeys()
      }}
      close={close}
    >
      <p>Makes a new key with the same name, scopes and expiry. The old one ends after the overlap.</p>
      <Choice
        label="The old key stays valid for"
        value={overlap}
        values={Object.keys(overlaps) as Overlap[]}
        onChange={setOverlap}
      />
    </Confirm>
  )
}
