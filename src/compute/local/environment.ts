import type { RunSpec } from '../compute.ts'

/** A clean environment: what the run asks for, what the machine must say (PATH, HF_HOME, CUDA_VISIBLE_DEVICES), and no more. */
export function programEnvironment(
  spec: RunSpec,
  machine: { env: Record<string, string>; pythonPath: string; modelsDir: string; workDir: string },
): Record<string, string> {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'C.UTF-8',
    HOME: machine.workDir,
    ...machine.env,
    TMPDIR: machine.workDir,
    PYTHONPATH: machine.pythonPath,
    PYTHONUNBUFFERED: '1',
    PYTHONSAFEPATH: '1',
    OMP_NUM_THREADS: String(Math.max(1, Math.floor(spec.resources.cpuCount))),
    // Spinning threads of several runs on few cores take each other's time.
    OMP_WAIT_POLICY: 'passive',
    TOKENIZERS_PARALLELISM: 'false',
    ANNEAL_MODELS_DIR: machine.modelsDir,
    ANNEAL_WORK_DIR: machine.workDir,
    // Not all that the machine has: runs beside it want some, too.
    ANNEAL_GPU_COUNT: String(Math.max(1, spec.resources.gpuCount)),
    ...(spec.replicas !== undefined && { ANNEAL_REPLICAS: String(spec.replicas) }),
    ...spec.env,
    ...spec.secretEnv,
  }
}
