// Two clusters run beside each other, and a killed cluster leaves nothing behind.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createApi, until } from '../api.ts'
import { leftovers, living } from '../leftovers.ts'
import { down, killSupervisor, up } from '../lifecycle.ts'
import { api } from '../support/cluster.ts'

const kernelSettings = ['vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops', 'net/ipv4/ip_forward']
const readKernelSettings = () => kernelSettings.map((name) => readFileSync(`/proc/sys/${name}`, 'utf8'))

test(
  'two clusters run beside each other, and killing a supervisor ends its whole cluster',
  { timeout: 300_000 },
  async (t) => {
    const settings = readKernelSettings()
    const started = await up((text) => t.diagnostic(text), { isOwn: false })
    t.after(() => down(started))
    const { cluster } = started
    const second = createApi(cluster)
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'lasting' } }
    const containers = [{ name: 'main', image: 'localhost/anneal-test/shell:1', command: ['sleep', '600'] }]
    await second.post('/api/v1/namespaces/default/pods', { ...pod, spec: { containers } })
    await until('a pod on the second cluster', async () => {
      const { status } = await second.get<{ status: { phase: string } }>('/api/v1/namespaces/default/pods/lasting')
      return status.phase === 'Running'
    })
    assert.equal(await api.find('/api/v1/namespaces/default/pods/lasting'), null)

    await killSupervisor(started)
    assert.deepEqual(await living(cluster), [])
    await down(started)
    assert.deepEqual(await leftovers(cluster), [])
    assert.deepEqual(readKernelSettings(), settings)
    assert.ok(await api.answers())
  },
)
