import { createLocalRuns } from '../../../src/compute/local/local-runs.ts'
import type { RunProgram } from '../../../src/compute/run.ts'
import { homeDir } from '../../support/stack.ts'

/** Starts a run whose program hangs before it speaks, as if the product had. */
export function launchSleeper(name: string, program: RunProgram, labels: Record<string, string>) {
  const options = {
    home: homeDir,
    python: 'python3',
    pythonPath: '.',
    modelsDir: '.',
    env: { PATH: process.env['PATH'] ?? '' },
    programs: { trainer: ['sleep', '600'], 'model-server': ['sleep', '600'] },
  }
  const resources = { cpuCount: 1, gpuCount: 0 }
  return createLocalRuns(options, program).launch({
    name,
    labels,
    env: {},
    secretEnv: {},
    resources,
    terminationGraceMs: 1000,
  })
}
