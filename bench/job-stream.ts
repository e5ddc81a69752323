// One job with 1,000 followers against one follower and none: processor time of the api, statements of the database, and the
// time from a report to the followers, its commit included. Then the first page of metrics of 100,000 steps against one of 1,000.
import { Agent, get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertedJobs, reportEveryMs } from './inserted-job.ts'
import { fetchJson, inTurn, sayRatio } from './rounds.ts'
import { quantile, startStack } from './stack.ts'

const reportsPerRun = 60
const manyFollowers = 1000
const openedAtOnce = 50
const [fewSteps, manySteps] = [1000, 100_000]

const stack = await startStack()
const { connection } = stack
const authorization = `Bearer ${connection.apiKey}`
const jobs = await insertedJobs(connection)
const { database } = jobs

async function openFollower(jobId: number, onMetric: () => void) {
  const agent = new Agent({ keepAlive: false })
  const path = `/v1/train/jobs/${jobId}/stream?from=now`
  const [response] = (await once(get(connection.apiUrl + path, { agent, headers: { authorization } }), 'response')) as [
    IncomingMessage,
  ]
  if (response.statusCode !== 200) throw new Error(`a follower got ${response.statusCode}`)
  response.setEncoding('utf8').on('data', (text: string) => {
    for (const _metric of text.matchAll(/^event: metric$/gm)) onMetric()
  })
  return () => response.destroy()
}

/** Reports at a trainer's pace. */
async function run(followers: number) {
  const jobId = await jobs.insertJob(1)
  const delays: number[] = []
  let reportedAt = 0
  const close: (() => void)[] = []
  const open = () => openFollower(jobId, () => delays.push(performance.now() - reportedAt))
  while (close.length < followers)
    close.push(...(await Promise.all(Array.from({ length: Math.min(openedAtOnce, followers - close.length) }, open))))
  const before = { seconds: jobs.apiSeconds(), transactions: await jobs.transactions(), atMs: performance.now() }
  for (let report = 1; report <= reportsPerRun; report++) {
    reportedAt = performance.now()
    await jobs.insertSteps(jobId, report * 10, report * 10)
    await sleep(reportEveryMs)
  }
  const share = (jobs.apiSeconds() - before.seconds) / ((performance.now() - before.atMs) / 1000)
  const perReport = ((await jobs.transactions()) - before.transactions) / reportsPerRun
  for (const each of close) each()
  console.log(
    `  ${String(followers).padStart(4)} followers: api ${(share * 100).toFixed(1)} % of a core, ${perReport.toFixed(1)} transactions a report` +
      (delays.length > 0
        ? `, told after p50 ${quantile(delays, 0.5).toFixed(1)} ms, p99 ${quantile(delays, 0.99).toFixed(1)} ms (${delays.length} of ${followers * reportsPerRun})`
        : ''),
  )
  return { share, perReport }
}

const none = await run(0)
const one = await run(1)
const many = await run(manyFollowers)
console.log(
  `transactions a report, ${manyFollowers} followers - 1: ${(many.perReport - one.perReport).toFixed(1)}, those of other processes included (each follower with a query of its own: ${manyFollowers})`,
)
console.log(
  `processor time of ${manyFollowers} followers, of a core: ${(many.share - none.share).toFixed(3)} (target: below 0.10); ` +
    `for each follower and report ${(((many.share - none.share) * reportEveryMs * 1000) / manyFollowers).toFixed(0)} µs`,
)

const [small, large] = [await jobs.insertJob(fewSteps), await jobs.insertJob(manySteps)]
await database.query('vacuum analyze training_steps')
const page = (jobId: number, query = '') =>
  fetchJson(`${connection.apiUrl}/v1/train/jobs/${jobId}/metrics${query}`, { headers: { authorization } })
const times = await inTurn(
  {
    'few steps': () => page(small),
    'many steps': () => page(large),
    'many, half-way': () => page(large, `?since_step=${manySteps / 2}`),
  },
  { rounds: 200 },
)
sayRatio(`first page of ${manySteps} / of ${fewSteps} steps (target: 1.10)`, times, (p50) => {
  return p50['many steps'] / p50['few steps']
})
sayRatio('half-way / first page', times, (p50) => p50['many, half-way'] / p50['many steps'])

await jobs.end()
await stack.stop()
