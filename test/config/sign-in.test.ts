// The settings of the sign-in of people: which client is whose, and which settings need each other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSignInConfig } from '../../src/config/sign-in.ts'
import { ServiceEnvironment } from '../../src/config/service-environment.ts'

const issuer = 'https://login.example.com'
const given = {
  ANNEAL_OIDC_ISSUER: issuer,
  ANNEAL_OIDC_ROLES: 'ml=research:editor',
}
const env = ServiceEnvironment.pick({ ANNEAL_OIDC_SCOPES: true, ANNEAL_OIDC_GROUPS_CLAIM: true }).parse({})
const read = (settings: object) => readSignInConfig({ ...env, ...settings } as Parameters<typeof readSignInConfig>[0])

test('the command line has its own client, or that of the console if it has no secret', () => {
  const clientOf = (settings: object) => {
    const { cliClientId, audiences } = read({ ...given, ...settings }) ?? assert.fail()
    return [cliClientId, audiences]
  }
  const web = { ANNEAL_OIDC_CLIENT_ID: 'web' }
  const secret = { ANNEAL_OIDC_CLIENT_SECRET: 'hush' }
  const cli = { ANNEAL_OIDC_CLI_CLIENT_ID: 'cli' }
  assert.deepEqual(clientOf(web), ['web', ['web']])
  assert.deepEqual(clientOf({ ...web, ...secret }), [null, ['web']])
  assert.deepEqual(clientOf({ ...web, ...secret, ...cli }), ['cli', ['web', 'cli']])
  assert.deepEqual(clientOf({ ...web, ...cli }), ['cli', ['web', 'cli']])
  assert.deepEqual(clientOf(cli), ['cli', ['cli']])
  assert.deepEqual(clientOf({ ...cli, ANNEAL_OIDC_AUDIENCE: 'api, cli' }), ['cli', ['api', 'cli']])
})

test('a setting that does nothing alone is refused', () => {
  assert.equal(read({}), null)
  assert.throws(() => read({ ANNEAL_OIDC_CLI_CLIENT_ID: 'cli' }), /ANNEAL_OIDC_CLI_CLIENT_ID needs ANNEAL_OIDC_ISSUER/)
  const secret = { ANNEAL_OIDC_CLIENT_SECRET: 'hush', ANNEAL_OIDC_AUDIENCE: 'x' }
  assert.throws(() => read({ ...given, ...secret }), /ANNEAL_OIDC_CLIENT_SECRET needs ANNEAL_OIDC_CLIENT_ID/)
  assert.throws(() => read(given), /needs ANNEAL_OIDC_CLIENT_ID, ANNEAL_OIDC_AUDIENCE or both/)
  assert.throws(() => read({ ...given, ANNEAL_OIDC_ROLES: undefined, ANNEAL_OIDC_AUDIENCE: 'x' }), /nobody may do/)
})
