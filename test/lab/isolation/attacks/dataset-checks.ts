import { randomUUID } from 'node:crypto'
import { createGzip } from 'node:zlib'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import type { Attack, Stage } from '../attack.ts'
import { completion, jobCheck, statusOf } from '../probes.ts'
import { countDone } from './accepted-work.ts'
import { askEach, pause, untilTold } from './connections.ts'

const jobs = 60
const rows = 1_500_000
const connections = 10

export const datasetChecks: Attack = {
  name: 'dataset-checks',
  what: '60 jobs train on one gzip of 1,500,000 rows whose last row is bad, so that each fails once it is checked',
  seconds: 100,
  prepare: async (stage) => ({ locations: [await upload(stage)] }),
  probes: (stage) => [jobCheck(stage), completion(stage)],
  async run(attacker) {
    const { baseModel, prepared, signal, ask, underway } = attacker
    const body = { model_name: baseModel, upload_file_path: prepared['locations']?.[0] }
    const paths: string[] = []
    await askEach({ count: jobs, connections, signal }, async () => {
      const answer = await ask('POST', '/v1/train', body)
      if (answer.status === 200) paths.push(`/v1/train/jobs/${(answer.body as { job_id: string }).job_id}`)
      else await pause(100, signal)
    })
    underway()
    await untilTold(signal)
    await countDone(attacker, paths, (job) => statusOf(job) === 'FAILED')
    await ask('POST', '/v1/train/jobs/cancel', undefined, AbortSignal.timeout(60_000))
  },
}

async function upload({ attacker }: Stage): Promise<string> {
  const { status, body } = await attacker.ask('POST', '/v1/data', { dataset_id: `large-${randomUUID()}` })
  if (status !== 200) throw new Error(`POST /v1/data answered ${status}.`)
  const { dataset_location: location } = body as { dataset_location: string }
  const compressed = await buffer(Readable.from(linesOf()).pipe(createGzip({ level: 1 })))
  const response = await fetch(location, { method: 'PUT', body: new Uint8Array(compressed) })
  if (response.status !== 200) throw new Error(`The upload answered ${response.status}.`)
  return location
}

const linesInPiece = 5000

function* linesOf(): Generator<string> {
  for (let first = 0; first < rows; first += linesInPiece) {
    const count = Math.min(linesInPiece, rows - first)
    yield Array.from({ length: count }, (_, index) => line(first + index)).join('')
  }
  yield '{"input": "A row without an output."}\n'
}

const line = (number: number) =>
  `{"input": "What is the stock of product ${number} in warehouse ${number % 977}?", "output": "${number * 7919} pieces."}\n`
