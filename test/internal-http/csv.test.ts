import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from '../../src/internal-http/csv.ts'

test('quotes what would end a cell, and disarms names that a spreadsheet would run', () => {
  assert.equal(csvLine(['a', 'b,c', 'say "hi"', 1.5]), 'a,"b,c","say ""hi""",1.5\r\n')
  assert.equal(csvLine(['=1+1', '+a', '@b', '-c', -2]), "'=1+1,'+a,'@b,'-c,-2\r\n")
})
