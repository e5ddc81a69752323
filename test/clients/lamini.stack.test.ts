// The lamini SDK from PyPI, as programs written years ago use it: two environment variables, nothing else.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openAccount } from '../support/stack.ts'
import { runChecks } from './lamini/run-checks.ts'

for (const [version, script] of [
  ['3.2.22', 'newest.py'],
  ['3.0.5', 'older.py'],
  ['2.5.4', 'older.py'],
  ['2.1.2', 'older.py'],
] as const)
  suite(`lamini ${version}`, async () => {
    const { apiKey } = await openAccount()
    const results = await runChecks({ version, script, apiKey })
    for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
    test('ran all its checks', () => assert.ok(results.length >= 6))
  })
