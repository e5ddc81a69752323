// Loaded before each test file: ends a file whose tests are over but which left a server or a timer open. A failed test often
// does, and its file would never end. (--test-force-exit ends a file before its results are written.)
import { after } from 'node:test'
import { isMainThread } from 'node:worker_threads'

const writeResultsMs = 30_000

// Not in the runner itself, and not in the programs and threads that a test starts.
if (isMainThread && process.env['NODE_TEST_CONTEXT'] && process.argv[1]?.endsWith('.test.ts'))
  after(() => {
    setTimeout(() => {
      console.error(`${process.argv[1]} left open: ${process.getActiveResourcesInfo().join(', ')}`)
      process.exit()
    }, writeResultsMs).unref()
  })
