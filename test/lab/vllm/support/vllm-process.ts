// A real vLLM on the CPU, started by the command line of our manifests with what a pod template would add for a CPU.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../../../tools/paths.mjs'
import { clientEnv } from '../../../../tools/setup/client-env.mjs'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { modelServerTemplate } from '../../../../src/compute/kubernetes/model-servers/manifests.ts'
import type { CatalogueEntry } from '../../../../src/domain/catalogue.ts'
import { freePort } from '../../../support/free-port.ts'

export type VllmProcess = { url: string; pid: number; ended: Promise<void>; stop: () => Promise<void> }

const forCpu = ['--enforce-eager']
const cpuVariables = { VLLM_CPU_KVCACHE_SPACE: '1', VLLM_CPU_OMP_THREADS_BIND: 'nobind', HF_HUB_OFFLINE: '1' }

/** It is starting: the sidecar waits for it. */
export async function startVllm(entry: CatalogueEntry, environment: Record<string, string> = {}): Promise<VllmProcess> {
  const env = await clientEnv(join(root, 'test/lab/vllm/requirements.txt'), { space: '7 GB' })
  const home = mkdtempSync(join(tmpdir(), 'anneal-vllm-'))
  const { command, args, variables } = containerOf(entry)
  const port = await freePort()
  const child = spawn(join(env, 'bin', command), [...args, '--port', String(port), ...forCpu], {
    cwd: home,
    env: {
      PATH: `${join(env, 'bin')}:${process.env['PATH']}`,
      ...variables,
      ...cpuVariables,
      HOME: home,
      HF_HOME: join(home, 'huggingface'),
      PYTHONPATH: nameOfVllm(env, home),
      OMP_NUM_THREADS: '1',
      GOMP_SPINCOUNT: '10000',
      // Its processes poll one another otherwise, which takes a busy machine's cores from the work.
      VLLM_SLEEP_WHEN_IDLE: '1',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const log: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      log.push(chunk.toString())
      log.splice(0, log.length - 200)
    })
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} does not start`)
  process.once('exit', () => endGroup(pid))
  let isStopped = false
  const ended = once(child, 'exit').then(() => {
    if (!isStopped) console.error(`vLLM ended:\n${log.join('')}`)
  })
  return {
    url: `http://127.0.0.1:${port}`,
    pid,
    ended,
    async stop() {
      isStopped = true
      endGroup(pid)
      await ended
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Its engine is a process of its own, in the same group. */
function endGroup(pid: number) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function containerOf({
  name,
  engine,
  source,
  dtype = 'float32',
  contextLength,
  maxBatch,
  maxAdapters,
  maxRank,
}: CatalogueEntry) {
  const spec = { name, engine, source, dtype, context_length: contextLength, max_batch: maxBatch }
  const server = { ...spec, max_adapters: maxAdapters, max_rank: maxRank }
  const image = { containers: [{ name: 'model-server', image: 'runtime:1' }] }
  const template = modelServerTemplate(
    {
      name: 'vllm',
      model: name,
      labels: { server: 'vllm', launch: '1' },
      env: { ANNEAL_SERVER_SPEC: JSON.stringify(server) },
      secretEnv: {},
      resources: { cpuCount: 2, gpuCount: 0 },
      replicas: 1,
      terminationGraceMs: 1000,
    },
    {
      templates: parsePodTemplates({ trainer: {}, 'model-server': { spec: image } }),
      gpuResource: 'nvidia.com/gpu',
      instance: 'blue',
    },
  )
  const found = template.spec?.containers.find((each) => each.name === 'vllm')
  const [command, ...rest] = found?.command ?? []
  if (!found || command === undefined) throw new Error('The manifest has no container vllm.')
  const variables = Object.fromEntries((found.env ?? []).map(({ name: key, value }) => [key, value]))
  return { command, args: [...rest, ...(found.args ?? [])], variables }
}

/** vLLM looks itself up as the package vllm, which the CPU build is not called. @returns a folder for PYTHONPATH */
function nameOfVllm(env: string, home: string): string {
  const library = readdirSync(join(env, 'lib')).find((each) => each.startsWith('python')) ?? ''
  const packages = join(env, 'lib', library, 'site-packages')
  const ours = readdirSync(packages).find((each) => /^vllm_cpu-.*\.dist-info$/.test(each))
  if (ours === undefined) throw new Error(`${packages} has no vllm_cpu`)
  const folder = join(home, 'packages')
  const copy = join(folder, ours.replace('vllm_cpu', 'vllm'))
  mkdirSync(folder)
  cpSync(join(packages, ours), copy, { recursive: true })
  const metadata = readFileSync(join(copy, 'METADATA'), 'utf8')
  writeFileSync(
    join(copy, 'METADATA'),
    metadata.replace(/^Name: .*$/m, 'Name: vllm').replace(/^Version: (.*)$/m, 'Version: $1+cpu'),
  )
  return folder
}
