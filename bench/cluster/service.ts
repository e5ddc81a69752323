// A client of the service, with a watch of its pods.
import { setTimeout as sleep } from 'node:timers/promises'
import { attemptRunName } from '../../src/domain/identifiers.ts'
import { sampleFile } from '../../test/support/rows.ts'
import { connection, openAccount, type Job } from '../../test/support/stack.ts'
import { createClient } from '../stack.ts'
import { watchPods, type Pods } from './pods.ts'

export const runsNamespace = 'anneal-runs'
/** An answer takes some milliseconds; a key may send 200 requests a second. */
const lookEveryMs = 5
const patienceMs = 120_000

type User = Awaited<ReturnType<typeof openUser>>
export type Service = User & { pods: Pods }

export const openService = async (): Promise<Service> => ({ ...(await openUser()), pods: watchPods(runsNamespace) })

/** Opens an account with one data set. */
export async function openUser() {
  const account = await openAccount()
  const upload_file_path = await account.upload('products', sampleFile)
  const call = createClient({ ...connection(), apiKey: account.apiKey })
  const job = (id: number) => call<Job>('GET', `/v1/train/jobs/${id}`)

  /** @returns the time of the first answer that satisfies the condition */
  async function reads(id: number, wanted: (job: Job) => boolean, everyMs = lookEveryMs): Promise<number> {
    for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await sleep(everyMs)) {
      const seen = await job(id)
      if (wanted(seen)) return performance.now()
      if (seen.status === 'FAILED') throw new Error(`job ${id} failed: ${seen.status_message}`)
    }
    throw new Error(`job ${id} did not get there`)
  }

  return {
    reads,
    call,
    async train(finetune_args: object, more: object = {}) {
      const body = { model_name: connection().baseModel, upload_file_path, finetune_args, ...more }
      const id = Number((await call<{ job_id: string }>('POST', '/v1/train', body)).job_id)
      return { id, run: attemptRunName(id, 1), acceptedAt: performance.now() }
    },
    /** Resolves when the job has ended. */
    async cancel(id: number) {
      await call('POST', `/v1/train/jobs/${id}/cancel`)
      await reads(id, ({ status }) => status === 'CANCELLED', 50)
    },
  }
}

/** Submits a job that no node can take, which uses no CPU while it waits. */
export const trainUnplaced = (user: User) => user.train({ max_steps: 1 }, { gpu_config: { gpus: 1 } })
