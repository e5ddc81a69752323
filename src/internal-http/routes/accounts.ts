import { wireTime } from '../../domain/timestamps.ts'
import { defineRoute } from '../../http/kit/route.ts'
import type { Account } from '../../repositories/accounts.ts'
import { createAccount, listAccounts, setAccountPriority } from '../../services/admin/accounts.ts'
import { deleteAccount } from '../../services/admin/delete-account.ts'
import {
  AccountAnswer,
  AccountDeleted,
  AccountList,
  AccountPath,
  AccountPriority,
  AccountQuery,
  NewAccount,
} from '../schemas/admin.ts'

export const accountRoutes = [
  defineRoute({
    name: 'create_account',
    method: 'post',
    path: '/internal/v1/admin/accounts',
    summary: 'Create an account, without a key',
    access: 'admin',
    body: NewAccount,
    response: AccountAnswer,
    handle: async ({ caller: admin, body: { name, priority } }) =>
      shown(await createAccount({ admin, input: { name, priority: priority ?? 'normal' } })),
  }),
  defineRoute({
    name: 'list_accounts',
    method: 'get',
    path: '/internal/v1/admin/accounts',
    summary: 'List the accounts, newest first',
    access: 'admin',
    query: AccountQuery,
    response: AccountList,
    async handle({ caller: admin, query }) {
      const { accounts, next } = await listAccounts({ admin, input: query })
      return { accounts: accounts.map(shown), next }
    },
  }),
  defineRoute({
    name: 'set_account_priority',
    method: 'post',
    path: '/internal/v1/admin/accounts/:account_id/priority',
    summary: "Set the priority of an account's jobs in the cluster's queue, from their next attempt on",
    access: 'admin',
    params: AccountPath,
    body: AccountPriority,
    response: AccountAnswer,
    handle: async ({ caller: admin, params, body: { priority } }) =>
      shown(await setAccountPriority({ admin, input: { id: params.account_id, priority } })),
  }),
  defineRoute({
    name: 'delete_account',
    method: 'delete',
    path: '/internal/v1/admin/accounts/:account_id',
    summary: 'Delete an account: revoke its keys, cancel its jobs, remove all of its objects and rows',
    access: 'admin',
    params: AccountPath,
    response: AccountDeleted,
    async handle({ caller: admin, params }) {
      const { id, objects, jobs } = await deleteAccount({ admin, input: { id: params.account_id } })
      return { id, deleted_objects: objects, deleted_jobs: jobs }
    },
  }),
]

const shown = ({ id, name, priority, createdAt }: Account) => ({
  id,
  name,
  priority,
  created_at: wireTime(createdAt),
})
