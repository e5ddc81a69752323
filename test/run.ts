// `npm test`: everything a fresh checkout can prove. One embedded stack serves all suites that need one; each makes its own account.
import { spawn, type ChildProcess } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root, toolPath } from '../tools/paths.mjs'

const usage = `npm test [-- [--only TEXT] [--no-python]] [FILE ...]
  FILE        test files; default: all of test/
  --only TEXT files whose path contains TEXT
  --no-python leave out the suite of runtime/`

const { values, positionals } = parseArgs({
  options: { only: { type: 'string' }, 'no-python': { type: 'boolean' }, help: { type: 'boolean' } },
  allowPositionals: true,
})
if (values.help) {
  console.log(usage)
  process.exit(0)
}

/** The cluster's suites need root and a cluster: `npm run test:cluster`. */
const own = () => globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/cluster/**'] }).toSorted()
const files = (positionals.length > 0 ? positionals : own()).filter(
  (file) => values.only === undefined || file.includes(values.only),
)
const isWhole = positionals.length === 0 && values.only === undefined
const needsStack = files.some((file) => /test\/(e2e|integration|clients)\//.test(file))

let running: ChildProcess | null = null
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    running?.kill(signal)
  })

process.exitCode = await main()

async function main(): Promise<number> {
  // A failure there does not hide what the rest would say.
  const failed = isWhole && !values['no-python'] ? await run(process.execPath, ['tools/python.mjs', 'test']) : 0
  if (interrupted) return failed
  const home = mkdtempSync(join(tmpdir(), 'anneal-test-'))
  const environment = { ...process.env, ANNEAL_TEST_HOME: home, ANNEAL_PYTHON: toolPath('python') }
  try {
    if (needsStack) await startStack(home)
    // One at a time: the suites share two cores with real training runs.
    const args = ['--test', '--test-concurrency=1', '--test-timeout=600000', ...files]
    return (await run(process.execPath, args, environment)) || failed
  } finally {
    if (needsStack) await run(process.execPath, ['src/cli.ts', 'stop', '--home', home])
    rmSync(home, { recursive: true, force: true })
  }
}

/** One slot, so that a second job waits; limits on attempts that a test can reach. */
function startStack(home: string): Promise<void> {
  // Suites send hundreds of wrong keys a minute from one address.
  const environment = {
    ...process.env,
    ANNEAL_SLOTS: '1',
    ANNEAL_STALL_MINUTES: '1',
    ANNEAL_MAX_JOB_HOURS: '24',
    ANNEAL_FAILED_AUTHENTICATIONS_PER_MINUTE: '100000',
  }
  const stack = spawn(process.execPath, ['src/cli.ts', 'start', '--home', home, '--port', '0'], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    stack.stdout.on('data', (chunk: Buffer) => {
      process.stdout.write(chunk)
      if (chunk.toString().includes('Ready in')) resolve()
    })
    stack.once('exit', (code) => reject(new Error(`the embedded stack ended with ${code}`)))
  })
}

function run(command: string, args: string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = (running = spawn(command, args, { cwd: root, env, stdio: 'inherit' }))
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)))
  })
}
