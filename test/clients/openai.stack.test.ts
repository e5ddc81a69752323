// The official openai SDK of Python, with nothing set but OPENAI_BASE_URL and OPENAI_API_KEY.
import { join } from 'node:path'
import { suite } from 'node:test'
import { clientEnv } from '../../tools/setup/client-env.mjs'
import { expectAll, runChecks, source } from './openai/run-checks.ts'

// Before the suite is named: the runner may take a file to be over once its suites are.
const checks = await runChecks(async () => ({
  command: join(await clientEnv(join(source, 'requirements.txt')), 'bin/python'),
  script: join(source, 'main_job.py'),
}))

suite('openai for Python', () => expectAll(checks, 21))
