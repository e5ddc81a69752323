// Upload speed and memory for data sets of a gigabyte, compared with a bare loop over the same rows. Validation of a
// million rows.
import { appendFileSync, createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { processId } from '../src/embedded/connection.ts'
import { createDatasetClient, megabyte, pieces, type DatasetClient } from './dataset-client.ts'
import { median, startStack } from './stack.ts'

/** Ticks per second in /proc. */
const clockTicks = 100
const rounds = 7
const roundMegabytes = 100

await withStack(measureSpeed)
await withStack((api) => measureMemory('local-data', api, (client, sizeBytes) => client.ingest(sizeBytes)))
await withStack((api) => measureMemory('presigned PUT and check', api, putAndCheck))
await withStack(checkMillionRows)

type Api = { client: DatasetClient; processId: number }

/** Every measurement starts a new api process. */
async function withStack(measure: (api: Api) => Promise<void>) {
  const { connection, stop } = await startStack()
  try {
    const client = createDatasetClient(connection)
    await client.ingest(megabyte)
    await measure({ client, processId: processId(connection, 'api') })
  } finally {
    await stop()
  }
}

/** Measures in turn, so that other load affects both alike. */
async function measureSpeed({ client, processId }: Api) {
  const file = rowsFile(roundMegabytes * megabyte)
  const [byClock, byCpu]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const cpuBefore = cpuSecondsOf(processId)
    const seconds = await client.ingest(roundMegabytes * megabyte)
    const cpuSeconds = cpuSecondsOf(processId) - cpuBefore
    const floor = await parseLoop(file)
    byClock.push(floor.seconds / seconds)
    byCpu.push(floor.cpuSeconds / cpuSeconds)
    const speed = (took: number) => `${(roundMegabytes / took).toFixed(0)} MB/s`
    console.log(
      `${roundMegabytes} MB: ingest ${speed(seconds)} (${speed(cpuSeconds)} of the api's CPU time), ` +
        `JSON.parse per line of a file ${speed(floor.seconds)} (${speed(floor.cpuSeconds)} of its CPU time)`,
    )
  }
  rmSync(file)
  const load = `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`
  console.log(`ratio by the clock: ${median(byClock).toFixed(2)}; by CPU time: ${median(byCpu).toFixed(2)} (${load})`)
}

async function measureMemory(
  name: string,
  { client, processId }: Api,
  load: (client: DatasetClient, sizeBytes: number) => Promise<unknown>,
) {
  const idle = megabytesOf(processId, 'VmRSS')
  const peaks: number[] = []
  for (const sizeMegabytes of [10, 1000]) {
    // Resets the peak.
    writeFileSync(`/proc/${processId}/clear_refs`, '5')
    await load(client, sizeMegabytes * megabyte)
    const peak = megabytesOf(processId, 'VmHWM')
    peaks.push(peak)
    const over = `${(peak - idle).toFixed(0)} MB over idle`
    console.log(`${name}, ${sizeMegabytes} MB: peak of the api ${peak.toFixed(0)} MB, ${over}`)
  }
  const [small = Number.NaN, large = Number.NaN] = peaks
  console.log(`${name}: peak of 1000 MB / peak of 10 MB: ${(large / small).toFixed(2)}`)
}

async function putAndCheck(client: DatasetClient, sizeBytes: number) {
  const prepared = [...pieces(10 * megabyte, '\n')].map((piece) => Buffer.from(`${piece}\n`))
  const preparedBytes = prepared.reduce((total, piece) => total + piece.length, 0)
  const times = Math.round(sizeBytes / (10 * megabyte))
  const body = Array.from({ length: times }, () => prepared).flat()
  await client.put(`put-${times}`, body, times * preparedBytes)
  await client.report(`put-${times}`)
}

async function checkMillionRows({ client }: Api) {
  const rows = Array.from({ length: 1_000_000 }, (_, row) =>
    row === 999_998 ? '{"input":"question"}' : `{"input":"question ${row}","output":"answer ${row}"}`,
  ).join('\n')
  await client.put('million', [rows], rows.length)
  const startedAt = performance.now()
  const report = await client.report<Record<string, unknown>>('million')
  console.log(`check of 1,000,000 rows, one bad at 999,999: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  console.log(JSON.stringify(report, null, 2))
}

function rowsFile(sizeBytes: number): string {
  const file = join(mkdtempSync(join(tmpdir(), 'anneal-bench-')), 'rows.jsonl')
  for (const piece of pieces(sizeBytes, '\n')) appendFileSync(file, `${piece}\n`)
  return file
}

/** The baseline: `JSON.parse` of every line of a file. */
async function parseLoop(file: string): Promise<{ seconds: number; cpuSeconds: number }> {
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  let rest = ''
  for await (const chunk of createReadStream(file, { encoding: 'utf8' }) as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) JSON.parse(line)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  return { seconds, cpuSeconds: (user + system) / 1e6 }
}

function megabytesOf(processId: number, name: string): number {
  const status = readFileSync(`/proc/${processId}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}

/** User and system time so far. The machine also runs the client and the object store. */
function cpuSecondsOf(processId: number): number {
  const stat = readFileSync(`/proc/${processId}/stat`, 'utf8')
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return (user + system) / clockTicks
}
