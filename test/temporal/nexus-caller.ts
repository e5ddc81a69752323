// The worker of another team: node nexus-caller.ts ADDRESS NAMESPACE
import { NativeConnection, Worker } from '@temporalio/worker'
import { fileURLToPath } from 'node:url'

const [address = '', namespace = ''] = process.argv.slice(2)
const connection = await NativeConnection.connect({ address })
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: 'other-team',
  workflowsPath: fileURLToPath(new URL('nexus-workflows.ts', import.meta.url)),
})
await worker.run()
