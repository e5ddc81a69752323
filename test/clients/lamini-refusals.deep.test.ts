// The table of the SDK's rest_requests.py, from statuses to exceptions: each status by a request that truly ends so.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { scopes } from '../../src/domain/scopes.ts'
import { createLog } from '../../src/log.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { connectRateLimits } from '../../src/repositories/rate-limits.ts'
import { createLimits } from '../../src/services/limits/limits.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { startPublic } from '../http/support.ts'
import { createOperator } from '../support/operator.ts'
import { connection } from '../support/stack.ts'
import { runChecks } from './lamini/run-checks.ts'

suite('refusals, as lamini 3.2.22 raises them', async () => {
  const account = await createOperator().openAccount()
  const [{ key: apiKey }, { key: limitedKey }] = [await account.makeKey([...scopes]), await account.makeKey(['read'])]
  const { databaseUrl, s3 } = connection()
  const database = connectDatabase(databaseUrl, { poolSize: 4 })
  const limits = createLimits({
    store: connectRateLimits(databaseUrl),
    settings: {
      requests: { perSecond: 0.001, burst: 1 },
      concurrentRequests: 10,
      failedAuthenticationsPerMinute: 100,
    },
    log: createLog('test', 'silent'),
  })
  after(() => Promise.all([database.close(), limits.close()]))

  const results = await runChecks({
    version: '3.2.22',
    script: 'refusals.py',
    apiKey,
    environment: {
      LIMITED_KEY: limitedKey,
      LIMITED_URL: await serve({ limits }),
      CUT_OFF_URL: await serve({ storage: createStorage({ ...s3, region: 'us-east-1', endpoint: nobodyListens }) }),
      BROKEN_URL: await serve({ database: { ...database, models: { list: bug } } }),
    },
  })
  for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
  test('every status has its check', () => assert.equal(results.length, 10))

  /** The edge over the database of the stack, in a condition that the stack itself must not be put into. */
  async function serve(condition: Record<string, Record<string, unknown>>) {
    const { port } = await startPublic({ database: { ...database }, ...condition })
    return `http://127.0.0.1:${port}`
  }
})

const nobodyListens = 'http://127.0.0.1:1'
const bug = () => Promise.reject(new Error('there is no secret table'))
