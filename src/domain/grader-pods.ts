// The worker asks the compute for pods in which programs of users grade. Each has one account's program.
import type { GraderPod } from './python-grader.ts'

/** `idleMs`: after this without a connection the pod ends by itself. It knows only the hash of its token. */
export type GraderPodSpec = GraderPod & { tokenSha256: string; idleMs: number }

export type GraderPodState =
  | { is: 'ready'; address: string }
  /** `message`: a sentence for users. */
  | { is: 'waiting'; message: string }
  /** It has ended, or is being deleted. */
  | { is: 'over' }

export type ObservedGraderPod = { name: string; uid: string; state: GraderPodState }

export type GraderPodCompute = {
  /**
   * A pod of that name is left as it is.
   * @returns a sentence for users where no such pod can be
   * @throws where a retry may help
   */
  launch: (spec: GraderPodSpec) => Promise<string | null>
  /** All of the installation. */
  list: (signal: AbortSignal) => Promise<ObservedGraderPod[]>
  /** May be repeated. */
  remove: (pod: Pick<ObservedGraderPod, 'name' | 'uid'>, signal: AbortSignal) => Promise<void>
}
