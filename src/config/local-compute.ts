import { cpus } from 'node:os'
import { z } from 'zod'
import { parse } from './environment.ts'

const LocalComputeEnvironment = z.object({
  ANNEAL_HOME: z.string().min(1),
  ANNEAL_PYTHON: z.string().min(1),
  ANNEAL_PYTHONPATH: z.string().min(1),
  ANNEAL_MODELS_DIR: z.string().min(1),
  ANNEAL_SLOTS: z.coerce
    .number()
    .int()
    .min(1)
    .default(Math.max(1, Math.floor(cpus().length / 4))),
})

/** A local run inherits these: where programs and the caches of models are, what to fetch from, and which GPUs it may see. */
const inheritedByRuns = [
  'PATH',
  'HOME',
  'LANG',
  'HF_HOME',
  'HF_TOKEN',
  'HF_HUB_OFFLINE',
  'ANNEAL_MODEL_CACHE',
  'ANNEAL_PACKAGE_INDEX',
  'ANNEAL_LLAMA_CPP',
  'PIP_INDEX_URL',
  'UV_DEFAULT_INDEX',
  'UV_INDEX_URL',
  'CUDA_VISIBLE_DEVICES',
  'LD_LIBRARY_PATH',
  'SSL_CERT_FILE',
]

/** Settings of runs on this machine; only the worker needs them. */
export function readLocalComputeConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(LocalComputeEnvironment, environment)
  return {
    home: env.ANNEAL_HOME,
    python: env.ANNEAL_PYTHON,
    pythonPath: env.ANNEAL_PYTHONPATH,
    modelsDir: env.ANNEAL_MODELS_DIR,
    slots: env.ANNEAL_SLOTS,
    env: Object.fromEntries(
      inheritedByRuns.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
    ),
  }
}
