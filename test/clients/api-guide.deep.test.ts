// docs/api-guide.md, and after it docs/openai.md, are run as they stand, in one shell, against the real service; so are the
// steps of the README.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { connection, openAccount } from '../support/stack.ts'
import { patienceMs } from '../support/eventually.ts'

const guide = ['api-guide', 'openai'].map((name) => readFileSync(join(root, `docs/${name}.md`), 'utf8')).join('\n')
const [, steps = ''] =
  /## Each step with curl\n.*?```sh\n(.*?)^```$/ms.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
const commands = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block).join('\n')

suite('the API guide', async () => {
  // The commands write these.
  after(() => ['runs', 'stream.txt'].forEach((name) => rmSync(join(root, name), { recursive: true, force: true })))
  const { apiKey } = await openAccount()

  async function paste(text: string) {
    // The page keeps plain curl; here an answer that is no success ends the script, and the command is shown. A model that
    // is just starting is waited for by the service, for 80 s.
    const strict = `set -euo pipefail; trap 'echo "failed: $BASH_COMMAND" >&2' ERR
curl() { command curl --silent --show-error --fail-with-body --max-time 100 "$@"; }\n`
    const shell = spawn('bash', ['-c', strict + text], {
      cwd: root,
      env: { ...process.env, ANNEAL_URL: connection().apiUrl, ANNEAL_API_KEY: apiKey },
      timeout: patienceMs,
    })
    let output = ''
    for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    const exitCode = await new Promise((resolve) => shell.once('close', resolve))
    assert.equal(exitCode, 0, output.slice(-2000))
    return output
  }

  test('every command succeeds', async () => void (await paste(commands)))

  test('the steps of the README succeed when they are pasted at once', async () => {
    const [, ...lines] = steps.split('\n')
    const output = await paste(['URL=$ANNEAL_URL KEY=$ANNEAL_API_KEY', ...lines].join('\n'))
    assert.match(output, /"eval_results":/)
    assert.match(output, /"city":/)
    assert.match(output, /"embedding":/)
  })
})
