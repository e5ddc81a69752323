// The official openai SDK of Node, with nothing set but OPENAI_BASE_URL and OPENAI_API_KEY.
import { copyFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'node:test'
import { clientPackages } from '../../tools/setup/client-env.mjs'
import { expectAll, runChecks, source } from './openai/run-checks.ts'

// Before the suite is named: the runner may take a file to be over once its suites are.
const checks = await runChecks(async (folder) => {
  const script = join(folder, 'main-job.mjs')
  copyFileSync(join(source, 'main-job.mjs'), script)
  symlinkSync(join(await clientPackages(source), 'node_modules'), join(folder, 'node_modules'))
  return { command: process.execPath, script }
})

suite('openai for Node', () => expectAll(checks, 15))
