// The vLLM container beside our sidecar. It listens on the pod's loopback, so only the sidecar reaches it.
import type { ModelServerSpec } from '../../model-servers.ts'
import { ComputeError } from '../../errors.ts'
import { hardening, modelsDir, variables, workDir, writableMounts } from '../pods/container-fields.ts'
import type { JsonObject } from '../pods/merge-template.ts'

type ServerSpec = {
  name: string
  engine: string
  source: { hub?: string; revision?: string; path?: string }
  context_length: number
  dtype?: string
  max_batch: number
  max_adapters: number
  max_rank: number
}

const port = 8001
/** The most adapters in one batch. A pod template may override this argument. */
const adaptersInBatch = 8
/** The values that vLLM takes for --max-lora-rank. */
const ranks = [8, 16, 32, 64, 128, 256, 320, 512]
const agentResources: ModelServerSpec['resources'] = { cpuCount: 0.5, memoryBytes: 1024 ** 3, gpuCount: 0 }

/** With vLLM the GPUs and most processors belong to its container; the agent only passes requests on. */
export function resourcesOfProgram(spec: ModelServerSpec): ModelServerSpec['resources'] {
  if (serverOf(spec).engine !== 'vllm') return spec.resources
  const { diskBytes } = spec.resources
  // The kubelet limits the disk of the whole pod, so one container requests the share of both.
  return { ...agentResources, ...(diskBytes !== undefined && { diskBytes }) }
}

/** The vLLM container, where the spec asks for that engine. @throws ComputeError invalid */
export function vllmFields(spec: ModelServerSpec, resources: JsonObject): JsonObject {
  const server = serverOf(spec)
  if (server.engine !== 'vllm') return {}
  return {
    spec: {
      containers: [container(server as ServerSpec, resources)],
      // vLLM's processes exchange data through this shared memory.
      volumes: [{ name: 'shared-memory', emptyDir: { medium: 'Memory' } }],
    },
  }
}

const serverOf = ({ env }: ModelServerSpec) => JSON.parse(env['ANNEAL_SERVER_SPEC'] ?? '{}') as Partial<ServerSpec>

function container(server: ServerSpec, resources: JsonObject): JsonObject {
  return {
    name: 'vllm',
    command: ['vllm', 'serve'],
    args: [...modelArguments(server), ...engineArguments(server)],
    env: variables({
      HOME: workDir,
      HF_HOME: `${workDir}/huggingface`,
      VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True',
      VLLM_NO_USAGE_STATS: '1',
    }),
    resources,
    securityContext: hardening,
    volumeMounts: [...writableMounts, { name: 'shared-memory', mountPath: '/dev/shm' }],
  }
}

function modelArguments({ name, source }: ServerSpec): string[] {
  if (source.hub) return [source.hub, ...(source.revision ? ['--revision', source.revision] : [])]
  if (source.path) return [source.path.startsWith('/') ? source.path : `${modelsDir}/${source.path}`]
  throw new ComputeError(
    'invalid',
    `vLLM cannot serve ${name}: its weights come from a Python package. Give the model a \`hub\` or \`path\` source.`,
  )
}

function engineArguments({ name, context_length, dtype, max_batch, max_adapters, max_rank }: ServerSpec): string[] {
  return Object.entries({
    host: '127.0.0.1',
    port,
    'served-model-name': name,
    'max-model-len': context_length,
    ...(dtype !== undefined && { dtype }),
    'max-num-seqs': max_batch,
    'max-loras': Math.min(adaptersInBatch, max_adapters),
    'max-cpu-loras': max_adapters,
    'max-lora-rank': ranks.find((rank) => rank >= max_rank) ?? max_rank,
    // This is the only backend that reads our grammars of JSON schemas and calls.
    'structured-outputs-config.backend': 'guidance',
  })
    .flatMap(([key, value]) => [`--${key}`, String(value)])
    .concat('--enable-lora')
}
