// Everything a bare clone needs, each step skipped when it is done: npm packages, the Python environment, the S3 server.
// Runs on the machine's own Node (20 or later) and imports nothing but Node.
//   node tools/setup.mjs [--only node,python,s3] [--dev] [--check]
// --only graders: the packages of graders that are programs, which nothing else needs.
// --dev adds the development tools of the chosen steps and the git hooks; --check only says what is missing.
import { parseArgs } from 'node:util'
import { recordPath, readRecord } from './paths.mjs'
import { releaseLocks, writeAtomically } from './setup/cache.mjs'
import { killCommands } from './setup/command.mjs'
import { gradersAreReady, setUpGraders } from './setup/grader-env.mjs'
import { setUpGitHooks } from './setup/git-hooks.mjs'
import { nodeIsReady, setUpNode } from './setup/node-packages.mjs'
import { objectStoreIsReady, setUpObjectStore } from './setup/object-store.mjs'
import { pythonIsReady, pythonToolsAreReady, setUpPython, setUpPythonTools } from './setup/python-env.mjs'
import { diskFull, duration, SetupError } from './setup/report.mjs'

const steps = {
  node: { isReady: nodeIsReady, setUp: setUpNode },
  python: { isReady: pythonIsReady, setUp: setUpPython },
  s3: { isReady: objectStoreIsReady, setUp: setUpObjectStore },
  graders: { isReady: gradersAreReady, setUp: setUpGraders },
  'python-tools': { isReady: pythonToolsAreReady, setUp: setUpPythonTools },
}

for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
  process.once(signal, () => {
    killCommands()
    releaseLocks()
    process.exit(code)
  })
}

try {
  process.exitCode = await main()
} catch (error) {
  process.exitCode = report(error)
}

async function main() {
  const options = { only: { type: 'string' }, dev: { type: 'boolean', default: false }, check: { type: 'boolean' } }
  const { values } = parseArgs({ options })
  const todo = wantedSteps(values).filter((name) => !steps[name].isReady(values.dev))
  if (values.dev && !values.check) setUpGitHooks()
  if (todo.length === 0) return 0
  if (!values.check) return setUp(todo, values.dev)
  console.log(`Not set up: ${todo.join(', ')}`)
  return 1
}

async function setUp(todo, dev) {
  const startedAt = performance.now()
  console.log(`Setting up: ${todo.join(', ')}. Interrupt it at any time; it goes on where it was.`)
  // They need nothing of each other, and each waits for the network most of the time.
  const results = await Promise.allSettled(
    todo.map(async (name) => {
      try {
        const found = await steps[name].setUp(dev)
        if (found) writeAtomically(recordPath, JSON.stringify({ ...readRecord(), [name]: found }, null, 2))
      } catch (error) {
        // At once: the others may take minutes yet. What they finish is not done again.
        report(error)
        throw error
      }
    }),
  )
  if (results.some(({ status }) => status === 'rejected')) return 1
  console.log(`Set-up done in ${duration(performance.now() - startedAt)}.`)
  return 0
}

function wantedSteps({ only, dev }) {
  const wanted = only?.split(',') ?? ['node', 'python', 's3']
  const unknown = wanted.find((name) => !(name in steps))
  if (unknown) throw new SetupError(`There is no step "${unknown}". Steps: ${Object.keys(steps).join(', ')}.`)
  return dev && wanted.includes('python') ? [...wanted, 'python-tools'] : wanted
}

function report(error) {
  if (error.code === 'ENOSPC') error = diskFull(error.path ?? 'the cache', '10 GB')
  if (['EACCES', 'EPERM', 'EROFS'].includes(error.code) && error.path)
    error = new SetupError(
      `${error.path} cannot be written (${error.code}). Run set-up as the owner of the clone, or clone again.`,
    )
  const expected = error instanceof SetupError || error.code?.startsWith('ERR_PARSE_ARGS')
  console.error(`\nSet-up failed: ${expected ? error.message : error.stack}`)
  return 1
}
