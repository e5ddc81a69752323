// Starts and cancels the workflows of durable work. Safe to repeat.
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client'
import { TypedSearchAttributes } from '@temporalio/common'
import { durableWork, workflowIdOf, type Work } from '../domain/durable-work.ts'
import type { Database } from '../repositories/database.ts'
import { summaryOf } from './summary.ts'
import { searchAttributes, taskQueue } from '../../workflows/contract.ts'

/** Work ends before its workflow closes, so open work needs one. */
export async function startWork(client: Client, database: Database, work: Work) {
  const start = await database.durableWork.startOf(work)
  if (!start) return
  const { accountId, accountName, input, summary, baseModel } = start
  const attributes = [{ key: searchAttributes.account, value: accountId }]
  if (baseModel !== null) attributes.push({ key: searchAttributes.baseModel, value: baseModel })
  const options = {
    workflowId: workflowIdOf(work),
    taskQueue,
    args: [input],
    // Its activities inherit the key: accounts take turns on a task queue.
    priority: { fairnessKey: accountId },
    memo: { account: accountName },
    staticSummary: summaryOf([summary, accountName]),
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
