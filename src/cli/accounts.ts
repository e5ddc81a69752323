import type { Command } from './command.ts'
import type { Answer } from './remote/operations.ts'
import { shortTime } from './remote/page.ts'
import { adminVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

type Account = Answer<'get', '/internal/v1/admin/accounts'>['accounts'][number]

const path = '/internal/v1/admin/accounts'
const priority = `low, normal (the default) or high: the rank of the account's jobs in the queue of a cluster with Kueue,
from the next attempt on`

export const command: Command = {
  create: adminVerb({
    options: {
      name: { value: 'NAME', says: 'a name for people to read', required: true },
      priority: { value: 'P', says: priority },
    },
    async run({ client, values: { name, priority }, print }) {
      const account = await client.post(path, { body: { name, priority } })
      print(account, () => account.id)
    },
  }),
  priority: adminVerb({
    takes: { ID: '', P: '' },
    async run({ client, args: [id = '', asked], print }) {
      const account = await client.post(`${path}/:account_id/priority`, {
        params: { account_id: id },
        body: { priority: asked },
      })
      print(account, () => `${account.id} has the priority ${account.priority}.`)
    },
  }),
  list: adminVerb({
    options: {
      limit: { value: 'N', says: 'number of accounts, 1 to 1000, newest first', default: '100' },
      after: { value: 'ID', says: 'continue the list after this account' },
    },
    async run({ client, values: { limit, after }, print }) {
      const answer = await client.get(path, { query: { limit, after } })
      print(answer, () => rows(answer.accounts))
    },
  }),
  delete: adminVerb({
    takes: { ID: '' },
    options: {
      yes: {
        says: "confirms: revokes the account's keys, cancels its jobs, and removes all of its data, models and jobs",
      },
    },
    async run({ client, args: [id = ''], values: { yes }, print }) {
      if (!yes) throw new UsageError('Deleting an account cannot be undone. Add --yes to confirm.')
      const deleted = await client.delete(`${path}/:account_id`, { params: { account_id: id } })
      print(deleted, () => `Deleted ${id}: ${deleted.deleted_jobs} jobs, ${deleted.deleted_objects} objects.`)
    },
  }),
}

const rows = (list: readonly Account[]) =>
  table(
    ['ACCOUNT', 'OPENED (UTC)', 'PRIORITY', 'NAME'],
    list.map(({ id, name, priority: rank, created_at: at }) => [id, shortTime(at), rank, name]),
  )
