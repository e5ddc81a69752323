// Delivers one outbox message to Temporal. Safe to repeat; throws until Temporal has the message.
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client'
import { TypedSearchAttributes } from '@temporalio/common'
import { isTerminal } from '../domain/training-job-status.ts'
import { isOpenEvaluation } from '../domain/model-evaluation.ts'
import { isOpenExport } from '../domain/model-export.ts'
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
  type ModelEvaluationInput,
  type ModelExportInput,
  type ModelServerInput,
} from '../../workflows/contract.ts'
import { assertNever } from '../domain/assert-never.ts'
import { describeExecution, signalIfOpen } from './workflow-executions.ts'

export type Deliver = (message: ClaimedMessage) => Promise<void>

/** The workflow execution that the message is for does not exist yet. */
export class NotYet extends Error {}

export const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error))

type MessageOf<K extends ClaimedMessage['kind']> = Extract<ClaimedMessage, { kind: K }>

function unlessStarted(error: unknown) {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
}

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
      case 'start-evaluation':
        return startEvaluation(message)
      case 'cancel-evaluation':
        return cancelEvaluation(message)
      case 'start-export':
        return startExport(message)
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

  async function startBatch({ workflowId, payload: { batchId } }: MessageOf<'start-batch'>) {
    const { accountId, modelName, kind, itemCount, request, state } = await database.inferenceBatches.get(batchId)
    // A batch ends before its execution closes, so a running batch needs one.
    if (state !== 'running') return
    const input: InferenceBatchInput = { batchId, chunkCount: request.chunks.length, ageLimitMs: batchAgeLimitMs }
    const options = {
      workflowId,
      taskQueue,
      args: [input],
      // Its activities inherit the key: accounts take turns on a task queue.
      priority: { fairnessKey: accountId },
      staticSummary: `Batch of ${itemCount} ${kind} on ${modelName}`,
      typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.account, value: accountId }]),
    }
    await client.workflow.start('inferenceBatch', options).catch(unlessStarted)
  }

  async function startEvaluation({ workflowId, payload: { evaluationId } }: MessageOf<'start-evaluation'>) {
    const { accountId, request, status } = await database.modelEvaluations.get(evaluationId)
    // An evaluation ends before its execution closes, so an open one needs an execution.
    if (!isOpenEvaluation(status)) return
    const input: ModelEvaluationInput = { evaluationId }
    const options = {
      workflowId,
      taskQueue,
      args: [input],
      priority: { fairnessKey: accountId },
      staticSummary: `Evaluation of ${request.models.length} models`,
      typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.account, value: accountId }]),
    }
    await client.workflow.start('modelEvaluation', options).catch(unlessStarted)
  }

  /** The evaluation is cancelled already. This ends the work for it. */
  async function cancelEvaluation({ workflowId }: MessageOf<'cancel-evaluation'>) {
    await client.workflow
      .getHandle(workflowId)
      .cancel()
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error
      })
  }

  async function startExport({ workflowId, payload: { exportId } }: MessageOf<'start-export'>) {
    const found = await database.modelExports.get(exportId)
    // As for evaluations: an open export needs an execution.
    if (!found || !isOpenExport(found.status)) return
    const { accountId, request } = found
    const input: ModelExportInput = { exportId }
    const options = {
      workflowId,
      taskQueue,
      args: [input],
      priority: { fairnessKey: accountId },
      staticSummary: `Merged export of a model on ${request.baseModel.name}`,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: searchAttributes.account, value: accountId },
        { key: searchAttributes.baseModel, value: request.baseModel.name },
      ]),
    }
    await client.workflow.start('modelExport', options).catch(unlessStarted)
  }

  async function startFineTune(workflowId: string, jobId: number, memo: { generation: number; acceptedAt?: string }) {
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
