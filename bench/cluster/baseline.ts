// Creates copies of the product's objects, without its labels, so that the product ignores them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { api, cluster, control } from '../../test/lab/cluster/support/cluster.ts'
import type { KubernetesObject } from '../../test/lab/cluster/api.ts'
import { toolPath } from '../../tools/paths.mjs'
import { runsNamespace } from './service.ts'

export type TrainingPod = { containers: { env: { name: string }[] }[] } & Record<string, unknown>
type TrainingJob = KubernetesObject & { spec: { selector?: object; template: { spec: TrainingPod } } }

const jobsPath = `/apis/batch/v1/namespaces/${runsNamespace}/jobs`

export const jobOf = (run: string) => api.get<TrainingJob>(`${jobsPath}/${run}`)

/** Creates the same Job under another name. @returns the time of the API server's answer */
export async function createCopy({ spec }: TrainingJob, name: string) {
  // The API server sets the selector itself.
  const copy = { ...spec, selector: undefined, template: { spec: spec.template.spec } }
  await api.post(jobsPath, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: copy })
  return performance.now()
}

export const deleteCopy = (name: string) => api.delete(`${jobsPath}/${name}`, { propagationPolicy: 'Background' })

/**
 * Creates the same pod without a Job. It gets the same work from a fake internal API.
 * @returns the time of the API server's answer
 */
export async function createPod(pod: TrainingPod, path: string, name: string, { url, token }: FakeInternalApi) {
  const own = [
    { name: 'ANNEAL_INTERNAL_URL', value: url },
    { name: 'ANNEAL_TOKEN', value: token },
  ]
  const isOwn = (variable: { name: string }) => own.some((each) => each.name === variable.name)
  const containers = pod.containers.map((container) => ({
    ...container,
    env: [...container.env.filter((variable) => !isOwn(variable)), ...own],
  }))
  await api.post(`${path}/pods`, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { ...pod, containers } })
  return performance.now()
}

type FakeInternalApi = { url: string; token: string; stop: () => void }

/** Starts an internal API for one claim on this machine. */
export async function startFakeInternalApi(rowsFile: string, args: object): Promise<FakeInternalApi> {
  const command = ['bench/fake_internal_api.py', cluster.host.address, rowsFile, JSON.stringify(args)]
  const child = spawn(toolPath('python'), command, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { url, token } = JSON.parse(line.toString()) as { url: string; token: string }
  await control.forward(Number(new URL(url).port))
  return { url, token, stop: () => child.stdin.end() }
}
