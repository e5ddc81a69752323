// One message to Temporal. Safe to repeat; throws until Temporal has it.
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client'
import { TypedSearchAttributes } from '@temporalio/common'
import { isTerminal } from '../domain/training-job-status.ts'
import { batchAgeLimitMs } from '../domain/inference-batch.ts'
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
  type InferenceBatchInput,
  type ModelServerInput,
} from '../../workflows/contract.ts'
import { assertNever } from '../domain/assert-never.ts'
import { describeRun, signalIfOpen } from './runs.ts'

export type Deliver = (message: ClaimedMessage) => Promise<void>

/** Not at this moment: the run that it is meant for is not there yet. */
export class NotYet extends Error {}

export const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error))

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
    switch (message.kind) {
      case 'start':
        return start(message)
      case 'cancel':
        return cancel(message)
      case 'phase':
        return signalIfOpen(client, message.workflowId, phaseSignal, message.payload)
      case 'slot':
        return signalIfOpen(client, message.workflowId, slotSignal, message.payload)
      case 'start-batch':
        return startBatch(message)
      case 'wake-model-server':
        return wakeModelServer(message)
      default:
        return assertNever(message)
    }
  }

  /** Delivered only once a run of this generation exists, which was not started for something accepted before. */
  async function start({ workflowId, generation, createdAt, payload: { jobId } }: MessageOf<'start'>) {
    const acceptedAt = createdAt.toISOString()
    const newest = await describeRun(client.workflow.getHandle(workflowId))
    if (newest && newest.generation >= generation) {
      if (newest.acceptedAt === null || newest.acceptedAt >= acceptedAt) return
      // Of a command that the database, restored to an earlier instant, has forgotten; its number was given again.
      if (newest.isRunning)
        await client.workflow.getHandle(workflowId, newest.runId).terminate('forgotten by a restore')
    } else if (newest?.isRunning) throw new NotYet(`run of generation ${newest.generation} is still closing`)
    await startRun(workflowId, jobId, { generation, acceptedAt })
  }

  /** A signal says what is wanted; the native cancel, which the Temporal UI also sends, makes the run close as Canceled. */
  async function cancel({ workflowId, generation, payload: { jobId } }: MessageOf<'cancel'>) {
    const newest = await describeRun(client.workflow.getHandle(workflowId))
    if (!newest?.isRunning) {
      // Either the job has ended as asked, or its run was lost: a new one releases and ends it.
      const job = await database.trainingJobs.get(jobId)
      if (isTerminal(job.status) || job.generation !== generation) return
      await startRun(workflowId, jobId, { generation })
      throw new NotYet('its run was lost; another one was started')
    }
    // The job was resumed since, so this message has been delivered before.
    if (newest.generation > generation) return
    const run = client.workflow.getHandle(workflowId, newest.runId)
    await run.signal(cancelSignal, { generation })
    await run.cancel()
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

  async function startBatch({ workflowId, payload: { batchId } }: MessageOf<'start-batch'>) {
    const { accountId, modelName, kind, itemCount, request, state } = await database.inferenceBatches.get(batchId)
    // It ends before its run closes: one that is still open without a run lost it.
    if (state !== 'running') return
    const input: InferenceBatchInput = { batchId, chunkCount: request.chunks.length, ageLimitMs: batchAgeLimitMs }
    const options = {
      workflowId,
      taskQueue,
      args: [input],
      staticSummary: `Batch of ${itemCount} ${kind} on ${modelName}`,
      typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.account, value: accountId }]),
    }
    await client.workflow.start('inferenceBatch', options).catch((error: unknown) => {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    })
  }

  async function startRun(workflowId: string, jobId: number, memo: { generation: number; acceptedAt?: string }) {
    const { generation } = memo
    const { accountId, baseModel } = await database.trainingJobs.get(jobId)
    const input: FineTuneInput = { jobId, generation }
    const options = {
      workflowId,
      taskQueue,
      args: [input],
      memo,
      staticSummary: `Fine-tune job ${jobId} on ${baseModel}`,
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
