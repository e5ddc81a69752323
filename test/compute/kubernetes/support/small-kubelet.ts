// Runs the pods of the small API server as processes of this machine, as a scheduler, a kubelet and the controllers of
// Jobs and Deployments would together.
import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { TestContext } from 'node:test'
import type { SmallApiServer, Stored } from './small-api-server.ts'

type Container = {
  name: string
  command: string[]
  env: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }[]
}
type Template = {
  metadata: { labels: Record<string, string> }
  spec: { restartPolicy: 'Always' | 'Never'; containers: [Container] }
}

/** So often a Deployment's container is restarted; a real one backs off ever longer. */
const maxRestarts = 5

export function startKubelet(t: TestContext, server: SmallApiServer): void {
  const processes = new Map<string, ChildProcess>()
  let isStopped = false
  t.after(() => {
    isStopped = true
    processes.forEach((child) => kill(child, 'SIGKILL'))
  })

  server.onChange((kind, { metadata: { name } }) => {
    if (isStopped) return
    const current = kind === 'secrets' ? undefined : server.objects[kind].get(name)
    if ((kind === 'jobs' || kind === 'deployments') && current) createPods(current)
    if (kind === 'pods' && current?.metadata.deletionTimestamp) end(current)
    // A pod waits for the Secret of its run.
    for (const pod of server.objects.pods.values()) if (pod.status['phase'] === 'Pending') start(pod, 0)
  })

  function createPods({ metadata, spec }: Stored): void {
    const { name, uid, deletionTimestamp } = metadata
    const isOwned = ({ metadata: pod }: Stored) => pod.ownerReferences?.[0]?.uid === uid
    const pods = [...server.objects.pods.values()].filter(isOwned)
    if (deletionTimestamp)
      for (const { metadata: pod, status } of pods)
        if (['Succeeded', 'Failed'].some((phase) => phase === status['phase'])) server.remove('pods', pod.name)
    const podName = `${name}-${uid.slice(0, 5)}`
    if (deletionTimestamp || pods.length > 0 || processes.has(podName)) return
    const template = spec?.['template'] as Template
    server.put('pods', {
      metadata: { name: podName, labels: template.metadata.labels, ownerReferences: [{ uid, controller: true }] },
      spec: template.spec,
      status: { phase: 'Pending' },
    })
  }

  function start({ metadata: { name, deletionTimestamp }, spec }: Stored, restarts: number): void {
    const { containers, restartPolicy } = spec as Template['spec']
    const [{ name: container, command, env }] = containers
    const secret = env.find(({ valueFrom }) => valueFrom?.secretKeyRef)?.valueFrom?.secretKeyRef?.name
    if (deletionTimestamp || (secret && !server.objects.secrets.has(secret)) || (processes.has(name) && restarts === 0))
      return
    const values = env.map(({ name: key, value, valueFrom }) => {
      const ref = valueFrom?.secretKeyRef
      return [key, ref ? server.objects.secrets.get(ref.name)?.stringData?.[ref.key] : value]
    })
    const [program = '', ...args] = command
    const child = spawn(program, args, {
      detached: true,
      env: { PATH: process.env['PATH'], ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) },
    })
    processes.set(name, child)
    if (restarts === 0) server.logs.set(name, '')
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => server.logs.set(name, `${server.logs.get(name)}${chunk.toString()}`))
    put(name, 'Running', { name: container, restartCount: restarts, state: { running: {} } })
    child.on('close', (code, signal) => {
      const exitCode = code ?? 128 + constants.signals[signal ?? 'SIGKILL']
      const finishedAt = new Date().toISOString()
      const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt }
      const pod = server.objects.pods.get(name)
      if (!pod || isStopped) return
      const isDeleted = pod.metadata.deletionTimestamp !== undefined
      if (restartPolicy === 'Always' && !isDeleted) {
        const state = { waiting: { reason: 'CrashLoopBackOff' } }
        put(name, 'Running', { name: container, restartCount: restarts + 1, state, lastState: { terminated } })
        if (restarts < maxRestarts) start(pod, restarts + 1)
        return
      }
      put(name, exitCode === 0 ? 'Succeeded' : 'Failed', { name: container, state: { terminated } })
      if (isDeleted) return server.remove('pods', name)
      const conditions = [
        { type: exitCode === 0 ? 'Complete' : 'Failed', status: 'True', lastTransitionTime: finishedAt },
      ]
      const job = [...server.objects.jobs.values()].find(({ metadata: { uid } }) => uid === ownerOf(pod))
      if (job) server.put('jobs', { metadata: { name: job.metadata.name }, status: { conditions } })
    })
  }

  function put(name: string, phase: string, status: object): void {
    const conditions = [{ type: 'PodScheduled', status: 'True' }]
    server.put('pods', {
      metadata: { name },
      status: { phase, conditions, startTime: new Date().toISOString(), containerStatuses: [status] },
    })
  }

  const asked = new Set<ChildProcess>()
  function end({ metadata: { name, deletionTimestamp = '' } }: Stored): void {
    const child = processes.get(name)
    if (!child || child.exitCode !== null || child.signalCode !== null) return server.remove('pods', name)
    if (asked.has(child)) return
    asked.add(child)
    child.kill('SIGTERM')
    const timer = setTimeout(() => kill(child, 'SIGKILL'), Date.parse(deletionTimestamp) - Date.now())
    child.on('close', () => clearTimeout(timer))
  }
}

const ownerOf = ({ metadata }: Stored) => metadata.ownerReferences?.[0]?.uid

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  process.kill(-child.pid, signal)
}
