import type { Command } from './command.ts'
import type { Answer } from './remote/operations.ts'
import { adminVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

const path = '/internal/v1/admin/keys'
type Key = Answer<'get', typeof path>['keys'][number]
type Revoked = Answer<'post', `${typeof path}/:key_id/revoke`>

const account = { value: 'ID', says: "the key's account" } as const
const id = { ID: 'a key: the part between ank_ and its secret' }

export const command: Command = {
  create: adminVerb({
    options: {
      account,
      name: { value: 'NAME', says: 'a name for people to read', required: true },
      scopes: {
        value: 'LIST',
        says: 'scopes with commas between: inference, training, data, read, admin',
        required: true,
      },
      expires: { value: 'TIME', says: 'when the key expires, such as 2027-01-31T00:00:00Z (default: never)' },
    },
    async run({ client, values, print }) {
      const body = {
        account_id: values.account,
        name: values.name,
        scopes: values.scopes.split(',').flatMap((scope) => scope.trim() || []),
        expires_at: values.expires,
      }
      const made = await client.post(path, { body })
      print(made, () => made.key)
    },
  }),
  list: adminVerb({
    options: {
      account,
      limit: { value: 'N', says: 'number of keys, 1 to 1000, newest first', default: '100' },
      after: { value: 'ID', says: 'continue the list after this key' },
    },
    async run({ client, values: { account, limit, after }, print }) {
      const answer = await client.get(path, { query: { limit, account_id: account, after } })
      print(answer, () => rows(answer.keys))
    },
  }),
  revoke: adminVerb({
    takes: id,
    options: { descendants: { says: 'also revoke the keys that this key made, and those that these made' } },
    async run({ client, args: [id = ''], values: { descendants }, print }) {
      const key = await client.post(`${path}/:key_id/revoke`, {
        params: { key_id: id },
        query: { descendants: descendants ? 'true' : undefined },
      })
      print(key, () => revoked(key))
    },
  }),
  rotate: adminVerb({
    takes: id,
    options: { overlap: { value: 'SECONDS', says: 'how long the old key stays valid (default: a day)' } },
    async run({ client, args: [id = ''], values: { overlap }, print }) {
      const body = overlap === undefined ? {} : { overlap_seconds: seconds(overlap) }
      const made = await client.post(`${path}/:key_id/rotate`, { params: { key_id: id }, body })
      print(made, () => made.key)
    },
  }),
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
