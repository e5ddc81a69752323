// Loaded first by the api and the workers of the fault suite, and by each of their threads: whenever SIGWINCH asks for it
// a full collection that also gives free pages back, of which V8 keeps some otherwise, now more and now less: what is held
// afterwards is in use. That signal harms nobody who does not listen yet.
const { setFlagsFromString } = require('node:v8')
const { runInNewContext } = require('node:vm')
const { BroadcastChannel, isMainThread, threadId } = require('node:worker_threads')

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')
const threads = new BroadcastChannel('collect garbage')
if (isMainThread)
  process.on('SIGWINCH', () => {
    threads.postMessage(null)
    collect()
  })
else threads.onmessage = collect
// Who has nothing else to do may end.
threads.unref()

/** What is in use stands in the server's log: what grows besides is not JavaScript's. */
function collect() {
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  console.error(`in use in thread ${threadId}: ${JSON.stringify({ heapUsed, external, arrayBuffers })}`)
}
