// Bugs planted in the product's statements: the suite that compares the repositories of the simulation with Postgres must
// notice them, or the simulation could prove what the product does not do.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { root } from '../../../tools/paths.mjs'
import { brokenStatements } from './breaks.ts'

const conformance = join(root, 'test/repositories/conformance/postgres.db.test.ts')
const loader = join(import.meta.dirname, 'break-statement.ts')

/** The variable of this test's process would make the inner run report to it. */
const { NODE_TEST_CONTEXT: _context, ...environment } = process.env

describe('the conformance suite notices a broken statement', () => {
  for (const name of brokenStatements)
    test(name, () => {
      const env = { ...environment, ANNEAL_TEST_BROKEN_STATEMENT: name }
      const args = ['--import', loader, conformance]
      const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
      assert.equal(status, 1)
      assert.match(stdout, /AssertionError/)
    })
})
