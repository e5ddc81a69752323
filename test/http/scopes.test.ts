import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publicRoutes } from '../../src/http/app.ts'
import { liveKey, startPublic } from './support.ts'

/** Routes that a key with the scope read may use although their method is not GET, and why. */
const harmless: Record<string, string> = {
  sign_in_to_console: 'a session can do what its key can do',
  sign_out_of_console: 'ends the session of the caller and nothing else',
  create_console_link: 'a link opens one session of the same key',
  export_model: 'an adapter is stored already; a merged export needs the scope training',
  find_downloaded_model: 'reads, by a POST that old clients send',
}

test('every route that changes something needs more than the scope read', () => {
  const changing = publicRoutes.filter(({ method, scope }) => method !== 'get' && scope === 'read')
  assert.deepEqual(changing.map(({ name }) => name).toSorted(), Object.keys(harmless).toSorted())
})

test('only routes without a caller, those of sign-in links and the one that says who the caller is need no scope', () => {
  const open = publicRoutes.filter(({ scope }) => scope === undefined)
  assert.deepEqual(open.map(({ name }) => name).toSorted(), [
    'get_console_session',
    'get_sign_in',
    'healthz',
    'open_console_link',
    'readyz',
    'show_console_link',
  ])
})

test('a key with the scope read exports an adapter, and starts no merged export', async () => {
  const model = { name: 'a'.repeat(64), baseModel: 'tiny', files: [] }
  const { call } = await startPublic({
    database: {
      accounts: {
        findLiveApiKey: async () => ({ ...(await liveKey()), scopes: ['read'] }),
        noteKeyUse: async () => {},
      },
      models: { find: async () => model },
    },
  })
  const ask = (format: string) => call('POST', `/v1/models/${model.name}/export`, { json: { format } })
  assert.equal((await ask('adapter')).status, 200)
  const { status, json } = await ask('merged')
  assert.equal(status, 401)
  assert.match(json.detail, /needs a key with the scope "training"/)
})
