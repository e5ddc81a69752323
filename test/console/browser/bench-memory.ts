// `npm run bench -- console-memory`: the memory of a page of the console that stays open on a running job. Two steps a second
// are put into the database. Each minute the garbage is collected and the heap is read. At the end the kinds of objects that
// grew most are named, and a fresh page of the same job says what the data alone take.
import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession } from 'playwright-core'
import { insertedJobs, reportEveryMs } from '../../../bench/inserted-job.ts'
import { createClient, startStack } from '../../../bench/stack.ts'
import { launch, openProfile } from './launch.ts'

const minutes = Number(process.env['ANNEAL_BENCH_MINUTES'] ?? 10)
const mebibyte = 1024 * 1024
const grownKinds = 8

const stack = await startStack()
const { connection } = stack
const jobs = await insertedJobs(connection)
const jobId = await jobs.insertJob(1)
const browser = await launch()
const context = await openProfile(browser)
const page = await context.newPage()
let requests = 0
page.on('request', () => requests++)
const { path } = await createClient(connection)<{ path: string }>('POST', '/v1/console/links', {})
await page.goto(connection.apiUrl + path)
await page.getByRole('button', { name: 'Sign in with the link' }).click()
await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()

async function openJob() {
  await page.goto(`${connection.apiUrl}/console/jobs/${jobId}`)
  await page.getByRole('region', { name: 'Curve' }).waitFor()
}

async function heapOf(session: CDPSession) {
  // The first collection finalizes objects, and only the second one frees them.
  for (let round = 0; round < 2; round++) await session.send('HeapProfiler.collectGarbage')
  const { usedSize, backingStorageSize = 0 } = (await session.send('Runtime.getHeapUsage')) as {
    usedSize: number
    backingStorageSize?: number
  }
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters')
  return { bytes: usedSize + backingStorageSize, nodes, listeners: jsEventListeners }
}

await openJob()
const session = await context.newCDPSession(page)
let step = 1
let isEnding = false
const reporting = (async () => {
  for (; !isEnding; await sleep(reportEveryMs)) {
    step++
    await jobs.insertSteps(jobId, step, step)
  }
})()

type Snapshot = {
  snapshot: { meta: { node_fields: string[]; node_types: unknown[] } }
  nodes: number[]
  strings: string[]
}

/** The bytes of each kind of object, by its type and its constructor. */
async function bytesByKind(session: CDPSession): Promise<Map<string, number>> {
  const chunks: string[] = []
  const keep = ({ chunk }: { chunk: string }) => void chunks.push(chunk)
  session.on('HeapProfiler.addHeapSnapshotChunk', keep)
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  session.off('HeapProfiler.addHeapSnapshotChunk', keep)
  const { snapshot, nodes, strings } = JSON.parse(chunks.join('')) as Snapshot
  const fields = snapshot.meta.node_fields
  const types = snapshot.meta.node_types[0] as string[]
  const [type, name, size] = ['type', 'name', 'self_size'].map((field) => fields.indexOf(field))
  if (type === undefined || name === undefined || size === undefined) throw new Error('the snapshot names no sizes')
  const found = new Map<string, number>()
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[nodes[at + type] ?? 0] ?? ''
    const called = ['object', 'native'].includes(kind) ? ` ${(strings[nodes[at + name] ?? 0] ?? '').slice(0, 40)}` : ''
    found.set(kind + called, (found.get(kind + called) ?? 0) + (nodes[at + size] ?? 0))
  }
  return found
}

type Sample = Awaited<ReturnType<typeof heapOf>> & { minute: number; step: number }
const samples: Sample[] = []
let kindsBefore = new Map<string, number>()
for (let minute = 0; minute <= minutes; minute++) {
  const before = requests
  if (minute > 0) await sleep(60_000)
  const sample = { minute, step, ...(await heapOf(session)) }
  samples.push(sample)
  console.log(
    `  minute ${String(minute).padStart(3)}: ${(sample.bytes / mebibyte).toFixed(2)} MiB, ${sample.nodes} nodes, ` +
      `${sample.listeners} listeners, step ${step}, ${requests - before} requests`,
  )
  if (minute === 1) kindsBefore = await bytesByKind(session)
}
isEnding = true
await reporting
const last = await heapOf(session)
const grown = Array.from(await bytesByKind(session), ([kind, bytes]) => ({
  kind,
  bytes: bytes - (kindsBefore.get(kind) ?? 0),
})).toSorted((a, b) => b.bytes - a.bytes)
console.log(
  `grown since the first minute: ${grown
    .slice(0, grownKinds)
    .map(({ kind, bytes }) => `${kind} ${(bytes / 1024).toFixed(0)} KiB`)
    .join(', ')}`,
)
await openJob()
await page
  .getByText(new RegExp(`step ${step}\\b`))
  .first()
  .waitFor()
const fresh = await heapOf(session)
const [first, end] = [samples[1] ?? samples[0], samples.at(-1)]
if (first && end) {
  const perStep = (end.bytes - first.bytes) / Math.max(1, end.step - first.step)
  console.log(
    `growth after the first minute: ${((end.bytes - first.bytes) / mebibyte).toFixed(2)} MiB, ${perStep.toFixed(0)} bytes a step`,
  )
}
console.log(
  `after ${minutes} minutes and ${step} steps: ${(last.bytes / mebibyte).toFixed(2)} MiB, ${last.nodes} nodes, ${last.listeners} listeners; ` +
    `a fresh page of the same job: ${(fresh.bytes / mebibyte).toFixed(2)} MiB, ${fresh.nodes} nodes, ${fresh.listeners} listeners`,
)
await browser.close()
await jobs.end()
await stack.stop()
