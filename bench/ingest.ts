// A data set in one request: how fast against a bare loop over the same rows, how much memory; and the check of a million rows.
import { appendFileSync, createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createClient, startStack } from './stack.ts'

const megabyte = 1e6
/** As of a set of questions and answers. */
const rowBytes = 250
const pieceRows = 256
/** Of /proc, a second. */
const clockTicks = 100

const stack = await startStack()
const { connection } = stack
const call = createClient(connection)

const rowText = (row: number) =>
  JSON.stringify({
    input: `What is known of part ${row}?`,
    output: `It is a "part" of ${row}.\n`.padEnd(180, 'and more '),
  }).padEnd(rowBytes - 2)

/** Rows in pieces of 64 KB; what is sent and what is parsed are the same bytes. */
function* pieces(sizeBytes: number): Generator<string> {
  const rowCount = Math.floor(sizeBytes / rowBytes)
  for (let row = 0; row < rowCount; row += pieceRows)
    yield Array.from({ length: Math.min(pieceRows, rowCount - row) }, (_, at) => rowText(row + at)).join(',\n')
}

async function ingest(sizeBytes: number): Promise<{ seconds: number; datasetId: string }> {
  const outgoing = request(`${connection.apiUrl}/v1/local-data`, {
    method: 'POST',
    headers: { authorization: `Bearer ${connection.apiKey}`, 'content-type': 'application/json' },
  })
  const answered = new Promise<string>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => text(incoming).then(resolve, reject))
  })
  const prepared = [...pieces(Math.min(sizeBytes, 10 * megabyte))]
  const startedAt = performance.now()
  outgoing.write('{"upload_base_path":"s3","data":[')
  for (let sent = 0; sent < sizeBytes; sent += 10 * megabyte)
    for (const [index, piece] of prepared.entries())
      if (!outgoing.write(sent === 0 && index === 0 ? piece : `,\n${piece}`))
        await new Promise((resolve) => outgoing.once('drain', resolve))
  outgoing.end(']}')
  const { dataset_id: datasetId } = JSON.parse(await answered) as { dataset_id: string }
  return { seconds: (performance.now() - startedAt) / 1000, datasetId }
}

/** The floor: lines of a file, each through `JSON.parse`, and nothing done with them. */
async function parseLoop(sizeBytes: number): Promise<{ seconds: number; cpuSeconds: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-bench-'))
  const file = join(folder, 'rows.jsonl')
  for (const piece of pieces(sizeBytes)) appendFileSync(file, `${piece.replaceAll(',\n', '\n')}\n`)
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
  rmSync(folder, { recursive: true })
  return { seconds, cpuSeconds: (user + system) / 1e6 }
}

const status = (name: string) =>
  Number(
    new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(
      readFileSync(`/proc/${connection.processes.api}/status`, 'utf8'),
    )?.[1],
  ) / 1024

/** Spent by the api so far, in user and system mode. The machine also runs the client and the object store. */
function cpuSeconds(): number {
  const stat = readFileSync(`/proc/${connection.processes.api}/stat`, 'utf8')
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return (user + system) / clockTicks
}

/** Linux counts the peak anew. */
const forgetPeak = () => writeFileSync(`/proc/${connection.processes.api}/clear_refs`, '5')

const peaks: number[] = []
await ingest(megabyte)
const idleMegabytes = status('VmRSS')
for (const sizeMegabytes of [10, 1000]) {
  forgetPeak()
  const cpuBefore = cpuSeconds()
  const { seconds } = await ingest(sizeMegabytes * megabyte)
  const perCpu = sizeMegabytes / (cpuSeconds() - cpuBefore)
  const peak = status('VmHWM')
  peaks.push(peak)
  const speed = sizeMegabytes / seconds
  console.log(
    `ingest ${sizeMegabytes} MB: ${speed.toFixed(0)} MB/s, peak ${peak.toFixed(0)} MB, ${(peak - idleMegabytes).toFixed(0)} MB over idle`,
  )
  if (sizeMegabytes < 1000) continue
  const floor = await parseLoop(200 * megabyte)
  const [wall, cpu] = [200 / floor.seconds, 200 / floor.cpuSeconds]
  console.log(`JSON.parse per line of a file: ${wall.toFixed(0)} MB/s, ${cpu.toFixed(0)} MB a CPU second`)
  console.log(`ingest: ${perCpu.toFixed(0)} MB a CPU second of the api`)
  console.log(`ratio by the clock: ${(speed / wall).toFixed(2)}; by CPU time: ${(perCpu / cpu).toFixed(2)}`)
}
console.log(`peak of 1000 MB / peak of 10 MB: ${((peaks[1] ?? Number.NaN) / (peaks[0] ?? Number.NaN)).toFixed(2)}`)

const { dataset_location: url } = await call<{ dataset_location: string }>('POST', '/v1/data', {
  dataset_id: 'million',
})
const rows = Array.from({ length: 1_000_000 }, (_, row) =>
  row === 999_998 ? '{"input":"question"}' : `{"input":"question ${row}","output":"answer ${row}"}`,
)
await fetch(url, { method: 'PUT', body: rows.join('\n') })
const startedAt = performance.now()
const report = await call<Record<string, unknown>>('GET', '/v1/data/million')
console.log(`check of 1,000,000 rows: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
console.log(JSON.stringify(report, null, 2))
await stack.stop()
