import { Client, Connection } from '@temporalio/client'
import { connection } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'
import { writeHistory } from './write-history.ts'

const temporal = await Connection.connect({ address: connection().temporalAddress })

export const client = new Client({ connection: temporal })
export const close = () => temporal.close()

/** Once it has closed. */
export async function saveHistory(name: string, workflowId: string) {
  const handle = client.workflow.getHandle(workflowId)
  // The message that starts it may still be on its way.
  const status = () =>
    handle.describe().then(
      ({ status }) => status.name,
      () => 'RUNNING',
    )
  await eventually(async () => (await status()) !== 'RUNNING')
  writeHistory(name, await handle.fetchHistory())
}
