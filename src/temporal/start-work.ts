// Starts and cancels the workflows of durable work. Safe to repeat.
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client'
import { TypedSearchAttributes } from '@temporalio/common'
import { durableWork, workflowIdOf, type Work } from '../domain/durable-work.ts'
import { batchAgeLimitMs } from '../domain/inference-batch.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { Database } from '../repositories/database.ts'
import {
  searchAttributes,
  taskQueue,
  type InferenceBatchInput,
  type ModelEvaluationInput,
  type ModelExportInput,
} from '../../workflows/contract.ts'

type Start = {
  accountId: string
  input: InferenceBatchInput | ModelEvaluationInput | ModelExportInput
  summary: string
  baseModel?: string
}

/** Work ends before its workflow closes, so open work needs one. */
export async function startWork(client: Client, database: Database, work: Work) {
  if (!(await database.durableWork.isOpen(work))) return
  const { accountId, input, summary, baseModel } = await describe(database, work)
  const attributes = [{ key: searchAttributes.account, value: accountId }]
  if (baseModel !== undefined) attributes.push({ key: searchAttributes.baseModel, value: baseModel })
  const options = {
    workflowId: workflowIdOf(work),
    taskQueue,
    args: [input],
    // Its activities inherit the key: accounts take turns on a task queue.
    priority: { fairnessKey: accountId },
    staticSummary: summary,
    typedSearchAttributes: new TypedSearchAttributes(attributes),
  }
  await client.workflow.start(durableWork[work.kind].workflowType, options).catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
  })
}

/** The work has ended already. This ends its workflow. */
export async function cancelWork(client: Client, workflowId: string) {
  await client.workflow
    .getHandle(workflowId)
    .cancel()
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error
    })
}

async function describe(database: Database, { kind, id }: Work): Promise<Start> {
  switch (kind) {
    case 'batch': {
      const batch = await database.inferenceBatches.get(id)
      const { accountId, modelName, itemCount, request } = batch
      return {
        accountId,
        input: { batchId: id, chunkCount: request.chunks.length, ageLimitMs: batchAgeLimitMs },
        summary: `Batch of ${itemCount} ${batch.kind} on ${modelName}`,
      }
    }
    case 'evaluation': {
      const { accountId, request } = await database.modelEvaluations.get(id)
      return { accountId, input: { evaluationId: id }, summary: `Evaluation of ${request.models.length} models` }
    }
    case 'export': {
      const found = await database.modelExports.get(id)
      if (!found) throw new ServiceError('not_found', `There is no export ${id}.`)
      const { accountId, request } = found
      const baseModel = request.baseModel.name
      return {
        ...{ accountId, input: { exportId: id }, baseModel },
        summary: `Merged export of a model on ${baseModel}`,
      }
    }
  }
}
