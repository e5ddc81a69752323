// What people with each role may do, over the real edges, with tokens of a provider of the tests' own.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Person } from '../../src/domain/person.ts'
import { readRoleGrants, roles, roleScopes } from '../../src/domain/roles.ts'
import { publicRoutes } from '../../src/http/app.ts'
import { createLog } from '../../src/log.ts'
import type { ApiKeyRecord } from '../../src/repositories/accounts.ts'
import type { Database } from '../../src/repositories/database.ts'
import { createSignIn } from '../../src/services/sign-in.ts'
import { audience, startIssuer } from '../support/issuer.ts'
import { accountId, startPrivate, startPublic } from './support.ts'

const provider = await startIssuer()
after(() => provider.stop())

const others = '22222222-2222-4222-8222-222222222222'
const grants = readRoleGrants([
  ...roles.map((role) => `${role}s=research:${role}`),
  'editors=sales:viewer',
  'cn=ops,dc=example=*:operator',
  `ids=${others}:viewer`,
])
const settings = {
  ...{ issuer: new URL(provider.url), audiences: [audience], groupsClaim: 'groups', grants },
  ...{ clientId: null, clientSecret: undefined, cliClientId: null, scopes: 'openid' },
}

/** Accounts, the keys of people, and the audit trail, in memory. */
function stubs() {
  const keys = new Map<string, ApiKeyRecord>()
  const audited: { action: string; target: string | null; person: Person | null }[] = []
  const names = ['research', 'sales']
  const database = {
    accounts: {
      find: (id: string) => Promise.resolve({ id, name: 'an account' }),
      named: (name: string) =>
        Promise.resolve({ account: { id: accountId.replace('1', String(names.indexOf(name))) }, isNew: false }),
      findLiveApiKey: (id: string) => Promise.resolve(keys.get(id) ?? null),
      noteKeyUse: () => Promise.resolve(),
    },
    apiKeys: {
      enter: (key: Omit<ApiKeyRecord, 'lastUsedAt'>) =>
        Promise.resolve(keys.set(key.id, { ...key, lastUsedAt: null }).size > 0),
      find: (_account: string, id: string) => Promise.resolve(keys.get(id) ?? null),
    },
    consoleSessions: {},
    auditEvents: { add: (event: (typeof audited)[number]) => Promise.resolve(void audited.push(event)) },
  }
  const whole = { ...database, transaction: (work: (tx: typeof database) => unknown) => work(database) }
  const signIn = createSignIn(settings, { database: whole as unknown as Database, log: createLog('test', 'silent') })
  return { database, signIn, audited }
}

const tokenFor = (...groups: string[]) => provider.sign({ groups, email: 'ann@example.com' })

test('a role may use exactly the routes whose scope it has', async () => {
  const { audited: _, ...given } = stubs()
  const { call } = await startPublic(given)
  for (const role of roles) {
    const key = await tokenFor(`${role}s`)
    const headers = { 'x-anneal-account': 'research' }
    for (const { method, path, scope, name } of publicRoutes) {
      if (scope === undefined) continue
      const { status, json } = await call(method.toUpperCase(), path.replace(/:\w+/g, '7'), { key, headers })
      const isRefused =
        status === 401 && /this needs the role (editor|admin) in this account/.test(JSON.stringify(json))
      // A session of the console is opened by the sign-in of people, not with a token.
      if (/people sign in to the console/.test(JSON.stringify(json))) continue
      assert.equal(isRefused, !roleScopes[role].includes(scope), `${role} and ${name}: ${status}`)
    }
  }
})

test('somebody with several accounts names one; with one it need not be named; by its id or its name', async () => {
  const { audited: _, ...given } = stubs()
  const { call } = await startPublic(given)
  const accountOf = async (groups: string[], account?: string) => {
    const headers = account === undefined ? {} : { 'x-anneal-account': account }
    return call('GET', '/v1/console/session', { key: await tokenFor(...groups), headers })
  }
  const several = await accountOf(['editors'])
  assert.equal(several.status, 400)
  assert.match(several.json.detail, /several accounts. Send one of research, sales/)
  assert.deepEqual((await accountOf(['editors'], 'sales')).json.scopes, ['read'])
  assert.deepEqual((await accountOf(['editors', 'admins'], 'research')).json.scopes, roleScopes.admin)
  assert.match((await accountOf(['viewers'], 'sales')).json.detail, /one of your accounts: research/)
  assert.equal((await accountOf(['viewers'])).status, 200)
  assert.equal((await accountOf(['ids'])).status, 200)
  assert.match((await accountOf(['nobody'])).json.detail, /none of its 1 groups has a role here/)
  assert.match((await accountOf(['cn=ops,dc=example'])).json.detail, /operators alone, which opens no account/)
})

test('a key has one account, so it cannot name another', async () => {
  const { call } = await startPublic()
  const named = (account: string) => call('GET', '/v1/train/methods', { headers: { 'x-anneal-account': account } })
  assert.equal((await named(others)).status, 400)
  assert.equal((await named(accountId)).status, 200)
})

test('a token is refused where no provider is known, and by the admin routes if the person is neither operator nor admin', async () => {
  const { call } = await startPublic()
  assert.equal((await call('GET', '/v1/usage', { key: await tokenFor('admins') })).status, 401)
  const { audited, ...given } = stubs()
  const { admin } = await startPrivate({
    ...given,
    database: {
      ...given.database,
      accounts: {
        ...given.database.accounts,
        create: () => Promise.resolve({ id: others, name: 'new', createdAt: new Date() }),
      },
    },
  })
  const create = async (...groups: string[]) =>
    admin.call('POST', '/internal/v1/admin/accounts', { key: await tokenFor(...groups), json: { name: 'new' } })
  assert.match((await create('editors')).json.detail, /several accounts|role admin/)
  assert.match((await create('admins')).json.detail, /needs the operator/)
  assert.equal((await create('cn=ops,dc=example')).status, 200)
  // The admin of the account has entered it; the operator enters none.
  assert.deepEqual(
    audited.map(({ action, person }) => [action, person?.mail]),
    [
      ['person.enter', 'ann@example.com'],
      ['account.create', 'ann@example.com'],
    ],
  )
})
