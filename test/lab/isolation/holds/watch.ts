// Loaded into the processes of a stack with `--import`. Measures how long one turn of the event loop holds the main thread of
// the api and of the worker, in processor time of that thread: a busy machine adds nothing. The inspector's profile names the
// functions of the longest hold. Answers on a Unix socket in the data directory; see ask.ts.
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session, type Profiler } from 'node:inspector/promises'
import { join, parse } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import type { Hold } from './ask.ts'
import { socketName } from './socket-name.ts'

const name = parse(process.argv[1] ?? '').name
/** A timer of this interval sees each turn of the loop that takes longer. */
const tickMs = 2
const sampleMicroseconds = 1000

if (isMainThread && (name === 'api' || name === 'worker'))
  serve(join(process.env['ANNEAL_HOME'] ?? '.', socketName(name)))

function serve(path: string) {
  const holds = watchHolds()
  const server = createServer((request, response) => {
    const answer = request.url === '/begin' ? holds.begin() : holds.end()
    answer.then(
      (hold) => response.end(JSON.stringify(hold)),
      // The process itself goes on: it is measured, not tested.
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  // A process that was killed leaves its socket.
  rmSync(path, { force: true })
  server.listen(path).unref()
}

/** Times are in microseconds. */
type Turn = { ms: number; from: number; to: number }

function watchHolds() {
  const session = new Session()
  session.connect()
  let timer: NodeJS.Timeout | null = null
  let longest: Turn = { ms: 0, from: 0, to: 0 }

  function watch() {
    let [cpu, at] = [threadMs(), nowMicroseconds()]
    timer = setInterval(() => {
      const [cpuNow, now] = [threadMs(), nowMicroseconds()]
      if (cpuNow - cpu > longest.ms) longest = { ms: cpuNow - cpu, from: at, to: now }
      cpu = cpuNow
      at = now
    }, tickMs)
  }

  return {
    async begin(): Promise<null> {
      // The last asker may have gone without an end.
      if (timer) await this.end()
      longest = { ms: 0, from: 0, to: 0 }
      await session.post('Profiler.enable')
      await session.post('Profiler.setSamplingInterval', { interval: sampleMicroseconds })
      await session.post('Profiler.start')
      watch()
      return null
    },
    /** @throws when it was not begun in this process */
    async end(): Promise<Hold> {
      if (!timer) throw new Error('not begun')
      clearInterval(timer)
      timer = null
      const { profile } = await session.post('Profiler.stop')
      await session.post('Profiler.disable')
      return { ms: longest.ms, functions: functionsOf(profile, longest) }
    },
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The clock of the profile. */
const nowMicroseconds = () => Number(process.hrtime.bigint() / 1000n)

const shownFunctions = 8

/** The functions that were on the stack in most samples of the hold, each with its share of them. */
function functionsOf(
  { nodes, samples = [], timeDeltas = [], startTime }: Profiler.Profile,
  { from, to }: Turn,
): string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const counts = new Map<string, number>()
  let [at, sampleCount] = [startTime, 0]
  for (const [index, sample] of samples.entries()) {
    at += timeDeltas[index] ?? 0
    if (at < from || at > to) continue
    sampleCount++
    const names = new Set<string>()
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) names.add(nameOf(byId.get(id)))
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts]
    .filter(([name]) => name !== '')
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, shownFunctions)
    .map(([name, count]) => `${name} ${Math.round((100 * count) / sampleCount)} %`)
}

/** Empty for what runs in every turn: Node's own functions and the root of the stack. */
function nameOf(node: Profiler.ProfileNode | undefined): string {
  if (!node || node.callFrame.url.startsWith('node:') || node.callFrame.functionName === '(root)') return ''
  const { functionName, url, lineNumber } = node.callFrame
  const file = /(?:src|activities|workflows|node_modules)\/.*$/.exec(url)?.[0]
  return `${functionName || '(anonymous)'}${file === undefined ? '' : ` ${file}:${lineNumber + 1}`}`
}
