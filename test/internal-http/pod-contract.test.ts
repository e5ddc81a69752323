import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { podContract, podContractPath } from '../../src/internal-http/pod-contract.ts'
import { root } from '../../tools/paths.mjs'

test('the contract that Python reads equals the schemas', () => {
  const written = readFileSync(join(root, podContractPath), 'utf8')
  assert.equal(written, podContract(), `${podContractPath} is out of date. Run: npm run contract`)
})
