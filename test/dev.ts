// `npm run dev`: the embedded stack with the settings of the tests. The api and the worker start again when their source
// changes. `npm test -- --attach .anneal/dev/connection.json` runs the tests against it.
import { watch } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { readConnection } from '../src/embedded/connection.ts'
import { describeHome } from '../src/embedded/data-directory.ts'
import { root } from '../tools/paths.mjs'
import { spawnNode, stackEnvironment, startArguments } from './support/services.ts'

const usage = `npm run dev [-- --port N]
  --port N  port of the public API (default: 8080; 0: any free one)`

/** Editors write a file in several steps. */
const quietMs = 150
const home = join(root, '.anneal/dev')
const { values } = parseArgs({ options: { port: { type: 'string', default: '8080' }, help: { type: 'boolean' } } })

if (values.help) console.log(usage)
else process.exitCode = await main(values.port)

async function main(port: string): Promise<number> {
  const stack = spawnNode(startArguments(home, port), stackEnvironment(home))
  stack.stdout?.pipe(process.stdout)
  stack.stderr?.pipe(process.stderr)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stack.kill(signal))
  const watchers = ['src', 'workflows', 'activities'].map((folder) => watchFolder(join(root, folder)))
  const code = await new Promise<number>((resolve) => stack.once('exit', (status) => resolve(status ?? 1)))
  for (const watcher of watchers) watcher.close()
  return code
}

function watchFolder(folder: string) {
  let timer: NodeJS.Timeout | undefined
  return watch(folder, { recursive: true }, (_, file) => {
    if (file === null || !file.endsWith('.ts')) return
    clearTimeout(timer)
    timer = setTimeout(() => restart(relative(root, join(folder, file))), quietMs)
  })
}

/** The supervisor starts again what ends. */
function restart(changed: string) {
  const names = concerned(changed)
  // There is no connection.json before the stack is ready.
  const processes = readConnection(describeHome(home))?.processes ?? {}
  const pids = names.flatMap((name) => processes[name] ?? [])
  if (pids.length > 0) console.log(`  ${changed} changed: starting ${names.join(' and ')} again`)
  for (const pid of pids)
    try {
      process.kill(pid, 'SIGTERM')
    } catch {
      // The process has ended meanwhile; the supervisor starts it again.
    }
}

function concerned(path: string): ('api' | 'worker')[] {
  if (/^src\/(http|internal-http)\/|^src\/api\.ts$/.test(path)) return ['api']
  if (/^(workflows|activities)\/|^src\/(loops|temporal|compute|worker)/.test(path)) return ['worker']
  if (/^src\/(cli|embedded)/.test(path)) return []
  return ['api', 'worker']
}
