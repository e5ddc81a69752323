// A machine of the cluster: process, mount and network namespaces of this one, held by one process (`pause`, which also
// reaps what its containers leave behind). When that process ends, the kernel ends every daemon, pod, mount and link in it.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { output } from './programs.ts'

export type Namespaces = Awaited<ReturnType<typeof openNamespaces>>

/** Settings that the kubelet changes for the whole machine. Each machine gets copies of these files. */
const kernelSettings = ['vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops']

/** @param dir the machine's own folder; its `etc` is mounted over /etc */
export async function openNamespaces(dir: string, pause: string) {
  for (const name of ['etc', 'etc.work', 'var', 'var.work', 'sys']) mkdirSync(join(dir, name), { recursive: true })
  const kinds = ['--mount', '--pid', '--net', '--fork', '--kill-child=KILL', '--mount-proc', '--propagation', 'private']
  // The machine ends with the process that opened it, however that process ends.
  const holder = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...kinds, pause], { stdio: 'ignore' })
  const pid = await childOf(holder)
  const machine = { pid, command: (argv: string[]) => inside(pid, argv), run, start, close }
  await run('sh', ['-c', layOut(dir)])
  return machine

  function run(command: string, args: string[]) {
    const [program = '', ...rest] = inside(pid, [command, ...args])
    return output(program, rest)
  }

  /** The daemon ends with the returned process, which ends with this process. */
  function start(argv: string[], logPath: string): ChildProcess {
    const log = openSync(logPath, 'a')
    const [program = '', ...args] = inside(pid, ['setpriv', '--pdeathsig', 'KILL', ...argv])
    return spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { stdio: ['ignore', log, log] })
  }

  async function close() {
    if (holder.exitCode !== null || holder.signalCode !== null) return
    const ended = once(holder, 'exit')
    process.kill(pid, 'SIGKILL')
    await ended
  }
}

function inside(pid: number, argv: string[]) {
  return ['nsenter', '--target', String(pid), '--mount', '--pid', '--net', '--', ...argv]
}

/** Mounts over the paths that are built into daemons, so that daemons see neither the host's files nor another cluster's. */
function layOut(dir: string) {
  const overlay = (path: string) =>
    `mount -t overlay overlay -o lowerdir=/${path},upperdir=${dir}/${path},workdir=${dir}/${path}.work /${path}`
  const settings = kernelSettings.map((name) => {
    const copy = join(dir, 'sys', name.replace('/', '.'))
    writeFileSync(copy, readFileSync(join('/proc/sys', name)))
    return `mount --bind ${copy} /proc/sys/${name}`
  })
  return [
    'set -e',
    'mount --make-rshared /',
    'mount -t tmpfs tmpfs /run',
    ...['etc', 'var'].map(overlay),
    ...settings,
    'ip link set lo up',
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
    // A namespace stays while a connection of a killed daemon waits for its peer. Without this setting it would wait two minutes.
    'echo 1 > /proc/sys/net/ipv4/tcp_orphan_retries',
  ].join('\n')
}

/** `unshare` waits for the first process of the namespaces, its only child. */
async function childOf(holder: ChildProcess): Promise<number> {
  for (;;) {
    if (holder.pid === undefined || holder.exitCode !== null || holder.signalCode !== null)
      throw new Error('The namespaces of a machine cannot be made: this needs root (and unshare, setpriv).')
    const [child] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim().split(' ')
    // Until then the process is still entering the namespaces.
    if (child && isPause(child)) return Number(child)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function isPause(pid: string) {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'pause'
  } catch {
    return false
  }
}
