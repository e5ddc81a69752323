// What the product makes, made by hand: without its labels, so that it does not take it for its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { api, cluster, control } from '../../test/cluster/support/cluster.ts'
import type { KubernetesObject } from '../../test/cluster/api.ts'
import { toolPath } from '../../tools/paths.mjs'
import { runsNamespace } from './service.ts'

export type TrainingPod = { containers: { env: { name: string }[] }[] } & Record<string, unknown>
type TrainingJob = KubernetesObject & { spec: { selector?: object; template: { spec: TrainingPod } } }

const jobsPath = `/apis/batch/v1/namespaces/${runsNamespace}/jobs`

export const jobOf = (run: string) => api.get<TrainingJob>(`${jobsPath}/${run}`)

/** The same Job under another name. @returns when the API server had taken it */
export async function createCopy({ spec }: TrainingJob, name: string) {
  // The API server names its pods itself.
  const copy = { ...spec, selector: undefined, template: { spec: spec.template.spec } }
  await api.post(jobsPath, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: copy })
  return performance.now()
}

export const deleteCopy = (name: string) => api.delete(`${jobsPath}/${name}`, { propagationPolicy: 'Background' })

/**
 * The same pod, without a Job, for a stand-in of the service that hands it the same work.
 * @returns when the API server had taken it
 */
export async function createPod(pod: TrainingPod, path: string, name: string, { url, token }: StandIn) {
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

export type StandIn = { url: string; token: string; stop: () => void }

/** What the trainer talks to by hand: on this machine, for one claim. */
export async function startStandIn(rowsFile: string, args: object): Promise<StandIn> {
  const command = ['bench/fake_internal_api.py', cluster.host.address, rowsFile, JSON.stringify(args)]
  const child = spawn(toolPath('python'), command, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { url, token } = JSON.parse(line.toString()) as { url: string; token: string }
  await control.forward(Number(new URL(url).port))
  return { url, token, stop: () => child.stdin.end() }
}
