// Records a workflow's history for test/replay:   node test/support/record-history.ts ADDRESS WORKFLOW_ID NAME
import { Client, Connection } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [address = '', workflowId = '', name = ''] = process.argv.slice(2)
const connection = await Connection.connect({ address })
const history = await new Client({ connection }).workflow.getHandle(workflowId).fetchHistory()
const file = join(import.meta.dirname, '../replay/histories', `${name}.json`)
writeFileSync(file, `${JSON.stringify(historyToJSON(history), null, 1)}\n`)
console.log(`${history.events?.length} events → ${file}`)
await connection.close()
