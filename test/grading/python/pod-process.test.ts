import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { openPodProcess } from '../../../src/grading/python/pod-process.ts'

/** Its queue of connections is full and nobody takes one, so the kernel drops each further SYN, as a network without the pod does. */
const deaf = `
import socket, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.8.1", 8000))
listener.listen(0)
print("listening", flush=True)
time.sleep(60)
`

test('gives up a pod that cannot be reached within seconds', async (t) => {
  const listener = spawn('python3', ['-c', deaf], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => listener.kill('SIGKILL'))
  await once(listener.stdout, 'data')
  const first = connect(8000, '127.0.8.1')
  t.after(() => first.destroy())
  await once(first, 'connect')
  const { signal } = new AbortController()
  await assert.rejects(openPodProcess({ address: '127.0.8.1', token: 'x', signal }), /cannot be reached/)
})
