// The shapes of what operators read and set over all accounts, without a server beside the app.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operatorToken } from '../../src/domain/identifiers.ts'
import { names, startPrivate } from '../http/support.ts'

const key = operatorToken('s'.repeat(32))
const account = '11111111-1111-4111-8111-111111111111'
const at = new Date('2026-11-20T10:00:00Z')
const job = {
  ...names,
  ...{ accountId: account, accountName: 'research', baseModel: 'tiny', status: 'QUEUED', phase: null, attempt: 1 },
  ...{ statusReason: 'waiting_for_slot', statusMessage: 'Waiting.', createdAt: at, finishedAt: null, grantedAt: null },
}
const amount = {
  ...{ prompts: 1, promptTokens: 2, completionTokens: 3, engineSeconds: 0.5, trainingSeconds: 4, gpuSeconds: 0 },
  ...{ trainingGpuSeconds: 36, embeddedTokens: 0 },
}
const hex = 'a'.repeat(64)
const lines = [
  { day: '2026-11-20', accountId: account, accountName: '=research', model: 'tiny', parts: null, ...amount },
  { day: '2026-11-20', accountId: account, accountName: '=research', model: hex, parts: null, ...amount },
]
const asked: unknown[] = []
let message: string | null = null
const stubs = {
  database: {
    operatorViews: {
      listJobs: async (page: object) => asked.push(page) && [job],
      findJob: async () => null,
      usage: async (page: object) => asked.push(page) && lines,
    },
    accounts: { find: async () => null },
    installation: {
      maintenance: async () => (message === null ? null : { since: at, message }),
      setMaintenance: async (text: string | null) => void (message = text),
    },
  },
}
const { admin } = await startPrivate(stubs)
const path = '/internal/v1/admin'
const get = (rest: string) => admin.call('GET', path + rest, { key })

test('the list of jobs names each with its account, and refuses an unknown filter by name', async () => {
  const { status, json } = await get('/jobs?status=QUEUED&limit=1')
  assert.equal(status, 200)
  assert.deepEqual(asked.pop(), { accountId: null, status: 'QUEUED', after: null, limit: 1 })
  const { job_id, display_name, account_name, status_reason, slot_since } = json.jobs[0]
  assert.deepEqual(
    [job_id, display_name, account_name, status_reason, slot_since, json.next],
    [7, 'questions, run 2', 'research', 'waiting_for_slot', null, 7],
  )
  const refused = await get('/jobs?stauts=QUEUED')
  assert.equal(refused.status, 400)
  assert.match(refused.text, /stauts/)
  for (const unknown of ['/jobs/9', '/jobs?after=9', `/jobs?account_id=${account}`, `/usage?account_id=${account}`])
    assert.equal((await get(unknown)).status, 404, unknown)
})

test('usage comes as JSON in pages, or as CSV that no spreadsheet runs', async () => {
  const { json } = await get('/usage?limit=2&from=2026-11-20&to=2026-11-20')
  assert.deepEqual(
    json.usage.map((line: Record<string, unknown>) => [line['model_name'], line['display_name']]),
    [
      ['tiny', 'tiny'],
      [hex, null],
    ],
  )
  await get(`/usage?after=${json.next}`)
  assert.deepEqual((asked.at(-1) as { after: object }).after, { day: '2026-11-20', accountId: account, model: hex })
  const csv = await get('/usage?format=csv&group_by=account,model')
  assert.match(String(csv.headers['content-type']), /^text\/csv/)
  const [head, first, second] = csv.text.split('\r\n')
  assert.match(head ?? '', /^account_id,account_name,model_name,display_name,prompts,/)
  assert.equal(first, `${account},'=research,tiny,tiny,1,2,3,0.5,4,0`)
  assert.ok(second?.startsWith(`${account},'=research,${hex},,1,`))
  const cursor = Buffer.from('["2026-11-20","x","m"]').toString('base64url')
  for (const query of ['group_by=key', 'format=xml', 'from=today', `after=${cursor}`, 'by=day'])
    assert.equal((await get(`/usage?${query}`)).status, 400, query)
})

test('the switch that stops new work says since when and why', async () => {
  const put = (json: object) => admin.call('PUT', `${path}/maintenance`, { key, json })
  assert.deepEqual((await get('/maintenance')).json, { maintenance: null })
  assert.deepEqual((await put({ on: true, message: ' Until noon. ' })).json, {
    maintenance: { since: '2026-11-20T10:00:00.000000', message: 'Until noon.' },
  })
  assert.deepEqual((await put({ on: false })).json, { maintenance: null })
  for (const wrong of [{}, { on: 'yes' }, { on: true, message: 'x'.repeat(501) }])
    assert.equal((await put(wrong)).status, 400)
})

test('usage and its CSV have the cost of each line where the operator has set prices', async () => {
  const priced = (await startPrivate({ ...stubs, settings: { prices: { currency: 'EUR', perGpuHour: 2.5 } } })).admin
  const { json } = await priced.call('GET', `${path}/usage`, { key })
  assert.deepEqual([json.currency, json.usage[0].cost_micros], ['EUR', 25_000])
  const { text } = await priced.call('GET', `${path}/usage?format=csv&group_by=model`, { key })
  const [head = '', first = ''] = text.split('\r\n')
  assert.match(head, /,cost_micros,currency$/)
  assert.match(first, /,25000,EUR$/)
  assert.doesNotMatch((await get('/usage?format=csv')).text, /cost_micros/)
})
