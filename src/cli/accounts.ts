import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

type Account = { id: string; name: string; priority: string; created_at: string }
type Deleted = { id: string; deleted_objects: number; deleted_jobs: number }

const path = '/internal/v1/admin/accounts'

export const accounts = serviceCommand({
  usage: `create --name NAME [--priority P]
       anneal accounts priority ID P
       anneal accounts list [--limit N] [--after ID]
       anneal accounts delete ID --yes

  --name NAME   a name for people to read
  --priority P  low, normal (the default) or high: the rank of the account's jobs in the queue of a cluster with Kueue,
                from the next attempt on
  --limit N     number of accounts, 1 to 1000 (default: 100), newest first
  --after ID    continue the list after this account
  --yes         confirms: revokes the account's keys, cancels its jobs, and removes all of its data, models and jobs`,
  options: {
    name: { type: 'string' },
    priority: { type: 'string' },
    limit: { type: 'string', default: '100' },
    after: { type: 'string' },
    yes: { type: 'boolean' },
  },
  takes: { least: 1, most: 3 },
  isAdmin: true,
  async run({ client, positionals: [verb = '', id, asked], values: { name, priority, limit, after, yes }, print }) {
    switch (verb) {
      case 'create': {
        if (name === undefined) throw new UsageError('--name is missing.')
        const account = await client.post<Account>(path, { name, ...(priority !== undefined && { priority }) })
        print(account, () => account.id)
        return 0
      }
      case 'priority': {
        if (id === undefined || asked === undefined) throw new UsageError('Name the account and its priority.')
        const account = await client.post<Account>(`${path}/${encodeURIComponent(id)}/priority`, { priority: asked })
        print(account, () => `${account.id} has the priority ${account.priority}.`)
        return 0
      }
      case 'list': {
        const query = new URLSearchParams({ limit, ...(after !== undefined && { after }) })
        const answer = await client.get<{ accounts: Account[] }>(`${path}?${query.toString()}`)
        print(answer, () => rows(answer.accounts))
        return 0
      }
      case 'delete': {
        if (id === undefined) throw new UsageError('Name the account to delete.')
        if (!yes) throw new UsageError('Deleting an account cannot be undone. Add --yes to confirm.')
        const deleted = await client.delete<Deleted>(`${path}/${encodeURIComponent(id)}`)
        print(deleted, () => `Deleted ${id}: ${deleted.deleted_jobs} jobs, ${deleted.deleted_objects} objects.`)
        return 0
      }
      default:
        throw new UsageError(`accounts takes create, priority, list or delete, not "${verb}".`)
    }
  },
})

const rows = (list: Account[]) =>
  table(
    ['ACCOUNT', 'OPENED (UTC)', 'PRIORITY', 'NAME'],
    list.map(({ id, name, priority, created_at: at }) => [id, at.slice(0, 19).replace('T', ' '), priority, name]),
  )
