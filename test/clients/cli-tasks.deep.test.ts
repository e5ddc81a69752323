// docs/cli-tasks.md runs as it stands, as one new user. With ANNEAL_RECORD_TASKS=1 the output goes to the page.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { connection, openAccount } from '../support/stack.ts'

const page = join(root, 'docs/cli-tasks.md')
const shownUrl = 'https://anneal.example.com'
const maxLines = 30
const blocks = /^```console\n(.*?)^```$/gms

suite('the ten tasks of a new user', async () => {
  const { apiKey } = await openAccount()
  const config = mkdtempSync(join(tmpdir(), 'anneal-tasks-'))
  after(() => rmSync(config, { recursive: true, force: true }))
  const text = readFileSync(page, 'utf8')
  const outputs = new Map<string, string>()
  /** The number of the job that the page calls 1. */
  let jobId = '1'

  const run = (line: string) =>
    new Promise<{ code: number | null; output: string; errors: string }>((resolve) => {
      const real = line
        .replace(/^anneal/, '"$NODE" src/cli.ts')
        .replace(shownUrl, connection().apiUrl)
        .replace(/(metrics|events|attempts|eval) 1\b/, `$1 ${jobId}`)
      const env = { PATH: process.env['PATH'], NODE: process.execPath, XDG_CONFIG_HOME: config, INIT_CWD: root }
      const child = spawn('bash', ['-c', real], { cwd: root, env })
      let [output, errors] = ['', '']
      child.stdout.on('data', (chunk) => (output += String(chunk)))
      child.stderr.on('data', (chunk) => (errors += String(chunk)))
      child.once('close', (code) => resolve({ code, output, errors }))
      child.stdin.on('error', () => undefined)
      child.stdin.end(`${apiKey}\n`)
    })

  const commands = [...text.matchAll(blocks)].flatMap(([, block = '']) => block.match(/(?<=^\$ ).*/gm) ?? [])
  for (const line of commands)
    test(line, async () => {
      const { code, output, errors } = await run(line)
      assert.equal(code, 0, `${output}${errors}`)
      jobId = /training job (\d+) accepted/.exec(output)?.[1] ?? jobId
      outputs.set(line, shown(output, jobId))
    })

  test('the page shows what each command prints', () => {
    if (process.env['ANNEAL_RECORD_TASKS'] === '1') {
      const recorded = text.replaceAll(blocks, (_all, block: string) => {
        const lines = block.match(/^\$ .*/gm) ?? []
        return `\`\`\`console\n${lines.map((line) => `${line}\n${outputs.get(line.slice(2)) ?? ''}`).join('')}\`\`\``
      })
      writeFileSync(page, recorded)
    }
    const recorded = readFileSync(page, 'utf8')
    for (const [line, output] of outputs) {
      const heading = output.split('\n')[0] ?? ''
      assert.ok(recorded.includes(`$ ${line}\n`) && sameShape(recorded, heading), `${line} prints "${heading}" now`)
    }
  })
})

/** Headings of tables have no digits; figures differ from run to run. */
const sameShape = (text: string, heading: string) => /[\d█]/.test(heading) || text.includes(heading)

function shown(output: string, jobId: string): string {
  const lines = output
    .replaceAll(connection().apiUrl, shownUrl)
    .replaceAll(/127\.0\.0\.1:\d+/g, 'anneal.example.com')
    .replaceAll(new RegExp(`\\b(job|JOB) ${jobId}\\b`, 'g'), '$1 1')
    .replaceAll(root, '/opt/anneal')
    .replaceAll(`on ${hostname()} `, 'on trainer-1 ')
    .split('\n')
    .map((line) => line.trimEnd())
  return lines.length <= maxLines ? lines.join('\n') : `${lines.slice(0, maxLines).join('\n')}\n…\n`
}
