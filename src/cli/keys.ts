import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

type Key = {
  id: string
  account_id: string
  name: string
  scopes: string[]
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  last_used_at: string | null
  maker_key_id: string | null
}
type Revoked = Key & { also_revoked: string[]; still_valid: string[] }
type Made = Key & { key: string }

const path = '/internal/v1/admin/keys'

export const keys = serviceCommand({
  usage: `create --account ID --name NAME --scopes LIST [--expires TIME]
       anneal keys list [--account ID] [--limit N] [--after ID]
       anneal keys revoke ID [--descendants]
       anneal keys rotate ID [--overlap SECONDS]

  --account ID       the key's account
  --name NAME        a name for people to read
  --scopes LIST      scopes with commas between: inference, training, data, read, admin
  --expires TIME     when the key expires, such as 2027-01-31T00:00:00Z (default: never)
  --descendants      also revoke the keys that this key made, and those that these made
  --limit N          number of keys, 1 to 1000 (default: 100), newest first
  --after ID         continue the list after this key
  --overlap SECONDS  how long the old key stays valid (default: a day)`,
  options: {
    account: { type: 'string' },
    name: { type: 'string' },
    scopes: { type: 'string' },
    expires: { type: 'string' },
    overlap: { type: 'string' },
    descendants: { type: 'boolean', default: false },
    limit: { type: 'string', default: '100' },
    after: { type: 'string' },
  },
  takes: { least: 1, most: 2 },
  isAdmin: true,
  async run({ client, positionals: [verb = '', id], values, print }) {
    switch (verb) {
      case 'create': {
        const made = await client.post<Made>(path, newKey(values))
        print(made, () => made.key)
        return 0
      }
      case 'list': {
        const { account, after, limit } = values
        const query = new URLSearchParams({
          limit,
          ...(account !== undefined && { account_id: account }),
          ...(after !== undefined && { after }),
        })
        const answer = await client.get<{ keys: Key[] }>(`${path}?${query.toString()}`)
        print(answer, () => rows(answer.keys))
        return 0
      }
      case 'revoke': {
        const query = values.descendants ? '?descendants=true' : ''
        const key = await client.post<Revoked>(`${path}/${keyId(id)}/revoke${query}`)
        print(key, () => revoked(key))
        return 0
      }
      case 'rotate': {
        const overlap = values.overlap === undefined ? {} : { overlap_seconds: seconds(values.overlap) }
        const made = await client.post<Made>(`${path}/${keyId(id)}/rotate`, overlap)
        print(made, () => made.key)
        return 0
      }
      default:
        throw new UsageError(`keys takes create, list, revoke or rotate, not "${verb}".`)
    }
  },
})

type NewKey = Partial<Record<'account' | 'name' | 'scopes' | 'expires', string>>

function newKey({ account, name, scopes, expires }: NewKey) {
  if (name === undefined || scopes === undefined) throw new UsageError('--name and --scopes are required.')
  return {
    account_id: account,
    name,
    scopes: scopes.split(',').flatMap((scope) => scope.trim() || []),
    expires_at: expires,
  }
}

function keyId(id: string | undefined): string {
  if (id === undefined) throw new UsageError('Name the key: the part between ank_ and its secret.')
  return encodeURIComponent(id)
}

function seconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError('--overlap takes a number of seconds.')
  return Number(text)
}

const revoked = ({ id, also_revoked: also, still_valid: valid }: Revoked) =>
  [
    `Revoked ${[id, ...also].join(', ')}.`,
    ...(valid.length === 0
      ? []
      : [`Keys that it made, or that these made, are still valid: ${valid.join(', ')}. --descendants revokes them.`]),
  ].join('\n')

const rows = (list: Key[]) =>
  table(
    ['KEY', 'ACCOUNT', 'STATE', 'LAST USED (UTC)', 'MADE BY', 'SCOPES', 'NAME'],
    list.map((key) => [
      key.id,
      key.account_id,
      state(key),
      key.last_used_at?.slice(0, 16).replace('T', ' ') ?? 'never',
      key.maker_key_id ?? '-',
      key.scopes.join(','),
      key.name,
    ]),
  )

function state({ revoked_at: revokedAt, expires_at: expiresAt }: Key): string {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt === null) return 'valid'
  return Date.parse(`${expiresAt}Z`) <= Date.now() ? 'expired' : `until ${expiresAt.slice(0, 16).replace('T', ' ')}`
}
