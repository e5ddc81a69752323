// Bundles the workflows as a worker does.
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { fileURLToPath } from 'node:url'

const workflowsPath = fileURLToPath(new URL('../../../../workflows/index.ts', import.meta.url))

let bundling: Promise<{ code: string }> | undefined

/** Bundles once per process. */
export async function bundleWorkflows(): Promise<string> {
  bundling ??= bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
  return (await bundling).code
}
