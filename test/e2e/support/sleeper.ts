import { createLocalCompute } from '../../../src/compute/local/local-compute.ts'
import type { RunProgram } from '../../../src/compute/compute.ts'
import { homeDir } from '../../support/stack.ts'

/** Starts a run whose program hangs before it speaks, as if the product had. */
export function launchSleeper(name: string, program: RunProgram, labels: Record<string, string>) {
  const compute = createLocalCompute({
    home: homeDir,
    python: 'python3',
    pythonPath: '.',
    modelsDir: '.',
    env: { PATH: process.env['PATH'] ?? '' },
    programs: { trainer: ['sleep', '600'], 'model-server': ['sleep', '600'] },
  })
  const resources = { cpuCount: 1, gpuCount: 0 }
  return compute.launch({ name, program, labels, env: {}, secretEnv: {}, resources, terminationGraceMs: 1000 })
}
