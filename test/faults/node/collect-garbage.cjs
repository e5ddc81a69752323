// Loaded first by the api and the workers of the fault suite, and by each of their threads: a full collection whenever
// SIGWINCH asks for one, so that what is held afterwards is in use. That signal harms nobody who does not listen yet.
const { setFlagsFromString } = require('node:v8')
const { runInNewContext } = require('node:vm')
const { BroadcastChannel, isMainThread } = require('node:worker_threads')

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
const threads = new BroadcastChannel('collect garbage')
if (isMainThread)
  process.on('SIGWINCH', () => {
    threads.postMessage(null)
    collect()
  })
else threads.onmessage = () => collect()
// Who has nothing else to do may end.
threads.unref()
