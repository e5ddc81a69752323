// Bundles the workflows ahead of time, for images: a worker that bundles them itself starts 1.3 s later.
//   node tools/bundle-workflows.mjs FILE
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode } from '@temporalio/worker'

const file = process.argv[2]
if (!file) {
  console.error('node tools/bundle-workflows.mjs FILE')
  process.exit(2)
}
const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
})
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, code)
console.log(`${file}: ${Math.round(code.length / 1024)} KB`)
