import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const program = fileURLToPath(new URL('support/read-hostile.ts', import.meta.url))

test('JSON that would need more memory as values than its process has is refused, and the process lives', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=160', program])
  const [values, levels] = ['holds more than 500000 values', 'is nested more than 100 levels deep']
  const call = `messages[1].tool_calls[0].function.arguments ${values}`
  const forms = ['lines', 'array', 'gzip']
  const shallow = 'data[0] must be an object, nested at most 32 levels deep.'
  assert.deepEqual(stdout.trim().split('\n'), [
    ...forms.map((form) => `values in ${form}: ${values}`),
    `values in a body: data[0] ${values}.`,
    ...forms.map((form) => `levels in ${form}: ${levels}`),
    `levels in a body: ${shallow}`,
    ...forms.map((form) => `arguments in ${form}: ${call}`),
    'arguments in a body: nothing',
    `values as a body: The body ${values}. Split it into several requests.`,
    `levels as a body: The body ${levels}.`,
  ])
})
