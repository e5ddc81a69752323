// Where graders run on Kubernetes: a pod for each account and program, which the worker starts and removes. A pod that is not
// there yet is waited for.
import { setTimeout as sleep } from 'node:timers/promises'
import { graderPodName, newestTag, type GraderPod } from '../../domain/python-grader.ts'
import { createTurns } from '../../turns.ts'
import type { GraderProcess } from './grader-process.ts'
import { openPodProcess } from './pod-process.ts'
import type { Asked, Opened, Sandbox } from './sandbox.ts'

/** `address` is null while the pod cannot be reached; `message` says why. `isRefused`: no wait helps. */
type PodPlace = { address: string | null; message: string | null; isRefused: boolean }

/** The table by which this process and the workers share the pods. */
type GraderPodTable = {
  /** Asks for the pod, or says that it is in use. */
  want: (pod: GraderPod) => Promise<PodPlace>
  /** The account's pods that may run. */
  countGranted: (accountId: string) => Promise<number>
  /** Until the worker has looked again. */
  forgetAddress: (name: string, address: string) => Promise<void>
}

type Options = {
  pods: GraderPodTable
  tokenOf: (name: string) => string
  podsOfAccount: number
  /** Longer than a scheduler and a cached image take. */
  startMs?: number
}

const askAgainMs = 500
/** The worker takes pods that were in use this often for idle only after three of these. */
const inUseEveryMs = 5000
const stillStarting = 'The pod of this grader is still starting. Ask again.'

export function createPodSandbox({ pods, tokenOf, podsOfAccount, startMs = 120_000 }: Options): Sandbox {
  // A pod runs one process at a time.
  const turns = createTurns({ atMost: Number.POSITIVE_INFINITY, atMostOfAccount: 1 })

  /** Connects to the pod, which is started if needed. */
  async function open(pod: GraderPod, signal: AbortSignal): Promise<GraderProcess | Opened> {
    const until = performance.now() + startMs
    for (;;) {
      const { address, message, isRefused } = await pods.want(pod)
      if (isRefused) return { refusal: message ?? '', reason: message ?? '' }
      if (address !== null) {
        const opened = await connect(pod, address, signal)
        if (opened) return opened
      }
      if (performance.now() > until)
        return { refusal: stillStarting, reason: message ?? 'no worker has started the pod', mayPass: true }
      await sleep(askAgainMs, undefined, { signal })
    }
  }

  async function connect({ name }: GraderPod, address: string, signal: AbortSignal) {
    try {
      const { ask, end } = await openPodProcess({ address, token: tokenOf(name), signal })
      const started = await ask(null, startMs)
      if ('line' in started) return { ask, end, complaint: () => '' }
      end()
    } catch {
      signal.throwIfAborted()
    }
    await pods.forgetAddress(name, address)
    return null
  }

  async function inPod<T>(pod: GraderPod, signal: AbortSignal, work: (opened: Opened) => Promise<T>): Promise<T> {
    // Also while the connection waits for its turn.
    const inUse = setInterval(() => void pods.want(pod).catch(() => undefined), inUseEveryMs)
    try {
      const opened = await open(pod, signal)
      if (!('end' in opened)) return await work(opened)
      const stopped = Promise.withResolvers<never>()
      const stop = () => stopped.reject(signal.reason as Error)
      signal.addEventListener('abort', stop)
      try {
        return await Promise.race([work(opened), stopped.promise])
      } finally {
        signal.removeEventListener('abort', stop)
        opened.end()
      }
    } finally {
      clearInterval(inUse)
    }
  }

  return {
    async programsOf(accountId) {
      return { limit: podsOfAccount, used: await pods.countGranted(accountId), where: 'pods' }
    },

    async use({ accountId, grader, signal = new AbortController().signal }: Asked, work) {
      const name = graderPodName(accountId, grader)
      await turns.take(name, signal)
      try {
        return await inPod({ name, accountId, imageTag: grader.image_tag ?? newestTag }, signal, work)
      } finally {
        turns.giveBack(name)
      }
    },
  }
}
