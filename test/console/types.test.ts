import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { consoleDocument, documentHash, typesPath } from '../../tools/console-document.ts'

test('the types of the console are those of the routes that it calls', () => {
  const [, written] = /Document: ([0-9a-f]{64})/.exec(readFileSync(typesPath, 'utf8')) ?? []
  const hint = 'The API of the console has changed. Run `npm run console:types`, then `npm run verify`, and commit.'
  assert.equal(written, documentHash(consoleDocument()), hint)
})
