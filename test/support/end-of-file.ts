// Loaded before each test file: ends a file whose tests are over but which left a server or a timer open. A failed test often
// does, and its file would never end. (--test-force-exit ends a file before its results are written.)
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const writeResultsMs = Number(process.env['ANNEAL_TEST_RESULTS_MS'] ?? 30_000)
const file = process.argv[1]

function endLater() {
  setTimeout(() => {
    console.error(`${file} left open: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit()
  }, writeResultsMs).unref()
}

// Not in the runner itself, and not in the programs and threads that a test starts.
if (isMainThread && process.env['NODE_TEST_CONTEXT'] && file?.endsWith('.test.ts'))
  // The runner also calls this hook while a file awaits something between two suites. The same module settles once the file
  // has named all its tests.
  after(() => void import(pathToFileURL(file).href).catch(() => null).finally(endLater))
