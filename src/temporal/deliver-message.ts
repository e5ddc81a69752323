// Delivers one outbox message to Temporal. Safe to repeat; throws until Temporal has the message.
import type { Client } from '@temporalio/client'
import { TypedSearchAttributes } from '@temporalio/common'
import { datasetDisplayName, jobDisplayName } from '../domain/display-name.ts'
import { isTerminal } from '../domain/training-job-status.ts'
import type { Database } from '../repositories/database.ts'
import type { ClaimedMessage } from '../repositories/outbox.ts'
import {
  cancelSignal,
  phaseSignal,
  resumeSignal,
  searchAttributes,
  slotSignal,
  taskQueue,
  wakeSignal,
  type FineTuneInput,
  type ModelServerInput,
} from '../../workflows/contract.ts'
import { assertNever } from '../domain/assert-never.ts'
import { cancelWork, startWork } from './start-work.ts'
import { summaryOf } from './summary.ts'
import { describeExecution, signalIfOpen } from './workflow-executions.ts'

export type Deliver = (message: ClaimedMessage) => Promise<void>

/** The workflow execution that the message is for does not exist yet. */
export class NotYet extends Error {}

export const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error))

const startsOfV010: readonly string[] = ['start-batch', 'start-evaluation', 'start-export']

type MessageOf<K extends ClaimedMessage['kind']> = Extract<ClaimedMessage, { kind: K }>

export function createDeliver({
  client,
  database,
  modelServerInput,
}: {
  client: Client
  database: Database
  modelServerInput: (baseModel: string) => ModelServerInput
}): Deliver {
  return async (message) => {
    // An api of v0.1.0 adds such messages until it is upgraded. The work scheduler starts what waits.
    const kind: string = message.kind
    if (startsOfV010.includes(kind)) return
    if (kind === 'cancel-evaluation') return cancelWork(client, message.workflowId)
    switch (message.kind) {
      case 'start':
        return start(message)
      case 'cancel':
        return cancel(message)
      case 'phase':
        return signalIfOpen(client, message.workflowId, phaseSignal, message.payload)
      case 'slot':
        return signalIfOpen(client, message.workflowId, slotSignal, message.payload)
      case 'start-work':
        return startWork(client, database, message.payload)
      case 'cancel-work':
        return cancelWork(client, message.workflowId)
      case 'wake-model-server':
        return wakeModelServer(message)
      default:
        return assertNever(message)
    }
  }

  /** Delivered once an execution of this generation exists that was not started for an earlier command. */
  async function start({ workflowId, generation, createdAt, payload: { jobId } }: MessageOf<'start'>) {
    const acceptedAt = createdAt.toISOString()
    const newest = await describeExecution(client.workflow.getHandle(workflowId))
    if (newest && newest.generation >= generation) {
      if (newest.acceptedAt === null || newest.acceptedAt >= acceptedAt) return
      // The database was restored and has lost the command behind this execution; its generation was used again.
      if (newest.isRunning)
        await client.workflow
          .getHandle(workflowId, newest.runId)
          .terminate('superseded after a restore of the database')
    } else if (newest?.isRunning) throw new NotYet(`The execution of generation ${newest.generation} is still closing.`)
    await startFineTune(workflowId, jobId, { generation, acceptedAt })
  }

  /** The signal cancels the work; the native cancel, which the Temporal UI also sends, closes the execution as Canceled. */
  async function cancel({ workflowId, generation, payload: { jobId } }: MessageOf<'cancel'>) {
    const newest = await describeExecution(client.workflow.getHandle(workflowId))
    if (!newest?.isRunning) {
      // Either the job has ended, or its execution was lost: a new one releases and ends the job.
      const job = await database.trainingJobs.get(jobId)
      if (isTerminal(job.status) || job.generation !== generation) return
      await startFineTune(workflowId, jobId, { generation })
      throw new NotYet('The execution was lost; a new one was started.')
    }
    // The job was resumed since, so the message was delivered before.
    if (newest.generation > generation) return
    const execution = client.workflow.getHandle(workflowId, newest.runId)
    await execution.signal(cancelSignal, { generation })
    await execution.cancel()
  }

  async function wakeModelServer({ workflowId, payload: { baseModel } }: MessageOf<'wake-model-server'>) {
    await client.workflow.signalWithStart('modelServer', {
      workflowId,
      taskQueue,
      args: [modelServerInput(baseModel)],
      signal: wakeSignal,
      staticSummary: `Model server of ${baseModel}`,
      typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.baseModel, value: baseModel }]),
    })
  }

  async function startFineTune(workflowId: string, jobId: number, memo: { generation: number; acceptedAt?: string }) {
    const { generation } = memo
    const labels = await database.jobDetails.labels(jobId)
    const { accountId, accountName, baseModel } = labels
    const [name, dataset] = [jobDisplayName(labels), datasetDisplayName(labels)]
    const input: FineTuneInput = { jobId, generation }
    const options = {
      workflowId,
      taskQueue,
      args: [input],
      memo: { ...memo, name, dataset, account: accountName, baseModel },
      staticSummary: summaryOf([`Job ${jobId}: ${name}`, dataset, accountName, baseModel]),
      typedSearchAttributes: new TypedSearchAttributes([
        { key: searchAttributes.account, value: accountId },
        { key: searchAttributes.baseModel, value: baseModel },
        { key: searchAttributes.status, value: generation === 1 ? 'CREATED' : 'QUEUED' },
      ]),
    }
    if (generation === 1) await client.workflow.start('fineTune', options)
    else
      await client.workflow.signalWithStart('fineTune', {
        ...options,
        signal: resumeSignal,
        signalArgs: [{ generation }],
      })
  }
}
