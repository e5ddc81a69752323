// 500 consoles on one job against one and none: processor time of the api and transactions of the database while the job
// reports, and when its state changes. Each console sends the requests of the page of a job (console/src/api/job-feed.ts and
// queries.ts): four to open, then the stream, four more when the stream is open, four each minute, and one to three for an
// event. Each has a session of its own, as far as an account may have sessions. At the end their key is revoked.
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertedJobs, reportEveryMs } from './inserted-job.ts'
import { createClient, startStack } from './stack.ts'

const reportsPerRun = 120
const manyConsoles = 500
const openedAtOnce = 25
/** An account has at most 100. */
const sessionCount = 50
const settleMs = 250
const lookEveryMs = 20
const askEveryMs = 60_000
/** All consoles have asked for what an event has changed by then. */
const eventSeconds = 10

const stack = await startStack()
const { connection } = stack
const jobs = await insertedJobs(connection)
const agent = new Agent({ keepAlive: true })

type Session = { cookie: string; 'x-console-token': string }

type Key = { id: string; key: string }
const client = createClient(connection)

async function signIn({ key }: Key): Promise<Session> {
  const response = await fetch(`${connection.apiUrl}/v1/console/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  })
  const { page_token: token } = (await response.json()) as { page_token: string }
  return { cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '', 'x-console-token': token }
}

async function open(path: string, session: Session, options: { agent: Agent }): Promise<IncomingMessage> {
  const sent = request(connection.apiUrl + path, { headers: session, ...options }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  // The sessions of an account share its rate of requests.
  if (response.statusCode === 429) {
    response.resume()
    await sleep(Number(response.headers['retry-after']) * 1000)
    return open(path, session, options)
  }
  if (response.statusCode !== 200) throw new Error(`${path} got ${response.statusCode}`)
  return response
}

const paths = {
  job: '',
  events: '/events?limit=1000',
  attempts: '/attempts?limit=100',
  metrics: '/metrics?limit=10000&since_step=',
}
type Part = keyof typeof paths
const all = Object.keys(paths) as Part[]
const changedBy: Record<string, Part[]> = {
  status: ['job', 'events', 'attempts'],
  note: ['events'],
  command: ['events', 'job'],
  attempt: ['events', 'attempts', 'job'],
}

const counts = { requests: 0, steps: 0 }

type Console = { stopAsking: () => void; close: () => void; session: Session; hasEnded: Promise<unknown> }

async function openConsole(jobId: number, session: Session): Promise<Console> {
  let step = 0
  const ask = (parts: Iterable<Part>) =>
    Promise.all(
      Array.from(parts, async (part) => {
        counts.requests++
        const path = `/v1/train/jobs/${jobId}${paths[part]}${part === 'metrics' ? step : ''}`
        for await (const _piece of await open(path, session, { agent }));
      }),
    )
  await ask(all)
  const stream = await open(`/v1/train/jobs/${jobId}/stream?from=now`, session, { agent: new Agent() })
  await ask(all)
  const stale = new Set<Part>()
  let timer: NodeJS.Timeout | undefined
  const settle = () => {
    timer = undefined
    const parts = [...stale]
    stale.clear()
    void ask(parts)
  }
  stream.setEncoding('utf8').on('data', (text: string) => {
    for (const [, type = '', data = ''] of text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)) {
      if (type === 'metric') [step, counts.steps] = [step + 1, counts.steps + 1]
      const kind = type === 'event' ? (JSON.parse(data) as { kind: string }).kind : type
      for (const part of changedBy[kind] ?? []) stale.add(part)
      if (stale.size > 0) timer ??= setTimeout(settle, settleMs)
    }
  })
  const asking = setInterval(() => void ask(all), askEveryMs)
  const stopAsking = () => {
    clearInterval(asking)
    clearTimeout(timer)
  }
  const close = () => {
    stopAsking()
    stream.destroy()
  }
  // The service ends the stream; a stream that this program closes has an error instead.
  const hasEnded = once(stream, 'end').catch(() => undefined)
  return { stopAsking, close, session, hasEnded }
}

async function openConsoles(jobId: number, { count, key }: { count: number; key: Key }) {
  const sessions: Session[] = []
  while (sessions.length < Math.min(count, sessionCount)) sessions.push(await signIn(key))
  const consoles: Console[] = []
  while (consoles.length < count)
    consoles.push(
      ...(await Promise.all(
        sessions.slice(0, Math.min(openedAtOnce, count - consoles.length)).map((_, index) => {
          const session = sessions[(consoles.length + index) % sessions.length]
          if (!session) throw new Error('no session')
          return openConsole(jobId, session)
        }),
      )),
    )
  return consoles
}

/** @returns the seconds until the last session was refused, and until the last stream had ended */
async function revoke({ id }: Key, jobId: number, consoles: Console[]) {
  for (const { stopAsking } of consoles) stopAsking()
  const sessions = new Set(consoles.map(({ session }) => session))
  await client('DELETE', `/v1/keys/${id}`)
  const revokedAt = performance.now()
  const seconds = () => (performance.now() - revokedAt) / 1000
  const refused = async (session: Session) => {
    while ((await fetch(`${connection.apiUrl}/v1/models`, { headers: session })).ok) await sleep(lookEveryMs)
  }
  let step = reportsPerRun + 2
  const reporting = setInterval(() => void jobs.insertSteps(jobId, step, step++), reportEveryMs)
  const [refusedIn, endedIn] = await Promise.all([
    Promise.all(Array.from(sessions, refused)).then(seconds),
    Promise.all(consoles.map(({ hasEnded }) => hasEnded)).then(seconds),
  ])
  clearInterval(reporting)
  return `a revoked key: every session refused after ${refusedIn.toFixed(2)} s, every stream ended after ${endedIn.toFixed(2)} s`
}

/** @returns the processor time and the transactions of what is done meanwhile, and the time that it took */
async function costOf(work: () => Promise<void>) {
  const before = { transactions: await jobs.transactions(), seconds: jobs.apiSeconds(), requests: counts.requests }
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1000
  const cpuSeconds = jobs.apiSeconds() - before.seconds
  const requests = counts.requests - before.requests
  return { seconds, cpuSeconds, requests, transactions: (await jobs.transactions()) - before.transactions }
}

async function tell(jobId: number, kind: string) {
  await jobs.database.query(
    `insert into job_events (job_id, kind, reason, message, actor) values ($1, $2, 'bench', 'Something to know', 'bench')`,
    [jobId, kind],
  )
  await sleep(eventSeconds * 1000)
}

async function run(count: number) {
  const jobId = await jobs.insertJob(1)
  const key = await client<Key>('POST', '/v1/keys', { name: 'bench', scopes: ['read'] })
  const consoles = await openConsoles(jobId, { count, key })
  counts.steps = 0
  const steady = await costOf(async () => {
    for (let step = 2; step < reportsPerRun + 2; step++) {
      await jobs.insertSteps(jobId, step, step)
      await sleep(reportEveryMs)
    }
  })
  const told = counts.steps
  const events: string[] = []
  for (const kind of ['note', 'attempt']) {
    const { requests, cpuSeconds, transactions } = await costOf(() => tell(jobId, kind))
    events.push(`${kind} ${requests} requests, ${cpuSeconds.toFixed(2)} s of the api, ${transactions} transactions`)
  }
  const revoked = await revoke(key, jobId, consoles)
  for (const { close } of consoles) close()
  const share = steady.cpuSeconds / steady.seconds
  console.log(
    `  ${String(count).padStart(3)} consoles: api ${(share * 100).toFixed(1)} % of a core; ` +
      `${(steady.requests / steady.seconds).toFixed(1)} requests and ${(steady.transactions / steady.seconds).toFixed(1)} transactions a second; ` +
      `${told} of ${count * reportsPerRun} steps told; ` +
      `events, each in ${eventSeconds} s: ${events.join('; ')}; ${revoked}`,
  )
  return { ...steady, share }
}

const none = await run(0)
const one = await run(1)
const many = await run(manyConsoles)
const perSecond = ({ transactions, seconds }: typeof none) => transactions / seconds
console.log(
  `${manyConsoles} consoles above none: ${((many.share - none.share) * 100).toFixed(1)} % of a core, ` +
    `${(perSecond(many) - perSecond(none)).toFixed(1)} transactions a second; ` +
    `one above none: ${((one.share - none.share) * 100).toFixed(1)} %, ${(perSecond(one) - perSecond(none)).toFixed(1)}; ` +
    `a query of each console for each step would be ${((manyConsoles * 1000) / reportEveryMs).toFixed(0)} a second`,
)
await jobs.end()
await stack.stop()
