// The workflows as a worker bundles them.
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { fileURLToPath } from 'node:url'

const workflowsPath = fileURLToPath(new URL('../../../workflows/index.ts', import.meta.url))

let bundling: Promise<{ code: string }> | undefined

/** Once in this process. */
export async function bundleWorkflows(): Promise<string> {
  bundling ??= bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
  return (await bundling).code
}
