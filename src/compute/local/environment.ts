import { threadVariables } from '../thread-variables.ts'
import type { RunSpec } from '../run.ts'

type Machine = { env: Record<string, string>; pythonPath: string }

/** The part of a run's environment that does not depend on the run. */
export function machineEnvironment(machine: Machine): Record<string, string> {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'C.UTF-8',
    ...machine.env,
    PYTHONPATH: machine.pythonPath,
    PYTHONUNBUFFERED: '1',
    PYTHONSAFEPATH: '1',
    ...threadVariables,
  }
}

/** A clean environment: only the spec's variables and those of the machine (PATH, HF_HOME, CUDA_VISIBLE_DEVICES). */
export function programEnvironment(
  spec: RunSpec & { replicas?: number },
  machine: Machine & { modelsDir: string; workDir: string },
): Record<string, string> {
  return {
    HOME: machine.workDir,
    ...machineEnvironment(machine),
    TMPDIR: machine.workDir,
    OMP_NUM_THREADS: String(Math.max(1, Math.floor(spec.resources.cpuCount))),
    ANNEAL_MODELS_DIR: machine.modelsDir,
    ANNEAL_WORK_DIR: machine.workDir,
    // A run gets only as many GPUs as it asked for, because other runs need GPUs, too.
    ANNEAL_GPU_COUNT: String(Math.max(1, spec.resources.gpuCount)),
    ...(spec.replicas !== undefined && { ANNEAL_REPLICAS: String(spec.replicas) }),
    ...spec.env,
    ...spec.secretEnv,
  }
}
