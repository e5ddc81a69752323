import { Client, Connection } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../tools/paths.mjs'
import { connection } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

const folder = join(import.meta.dirname, 'histories')
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
  const history = await handle.fetchHistory()
  mkdirSync(folder, { recursive: true })
  // Stack traces name files of the machine that recorded them.
  const text = historyToJSON(history).replaceAll(`${root}/`, '')
  writeFileSync(join(folder, `${name}.json`), `${text}\n`)
  console.log(`${name}: ${history.events?.length} events`)
}
