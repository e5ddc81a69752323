// Calls the cluster's API server as administrator, over plain HTTPS, for tests and for the start of the cluster.
import { readFileSync } from 'node:fs'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { apiPort, type Cluster } from './settings.ts'
import { patienceMs } from '../../support/eventually.ts'

export type KubernetesObject = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; uid?: string; labels?: Record<string, string> } & Record<
    string,
    unknown
  >
  [field: string]: unknown
}

type WatchEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'ERROR'; object: T }

export class ApiError extends Error {
  readonly status: number

  constructor(method: string, path: string, status: number, text: string) {
    super(`${method} ${path} answered ${status}: ${messageOf(text)}`)
    this.status = status
  }
}

export type ClusterApi = ReturnType<typeof createApi>

export function createApi({ pki, control }: Pick<Cluster, 'pki' | 'control'>, { token }: { token?: string } = {}) {
  const file = (name: string) => readFileSync(join(pki, name))
  const identity = token ? {} : { cert: file('admin.crt'), key: file('admin.key') }
  const agent = new Agent({ keepAlive: true, ca: file('ca.crt'), ...identity })
  const authorization = token ? { authorization: `Bearer ${token}` } : {}

  async function text(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<string> {
    const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    // Node sends no length with a DELETE, and the server would read the body as the next call.
    const bodyHeaders = sent && { 'content-type': contentType, 'content-length': sent.length }
    const headers = { ...authorization, ...bodyHeaders }
    const options = { agent, host: control.address, port: apiPort, method, path, headers, timeout: 30_000 }
    const answer = await send(options, sent)
    if (answer.status >= 300) throw new ApiError(method, path, answer.status, answer.text)
    return answer.text
  }

  async function ask<T = KubernetesObject>(...call: Parameters<typeof text>): Promise<T> {
    return JSON.parse(await text(...call)) as T
  }

  const api = {
    text,
    get: <T = KubernetesObject>(path: string) => ask<T>('GET', path),
    list: async <T = KubernetesObject>(path: string) => (await ask<{ items: T[] }>('GET', path)).items,
    post: <T = KubernetesObject>(path: string, body: unknown) => ask<T>('POST', path, body),
    patch: <T = KubernetesObject>(path: string, body: unknown, kind = 'merge-patch') =>
      ask<T>('PATCH', path, body, `application/${kind}+json`),
    delete: (path: string, body?: unknown) => ask<unknown>('DELETE', path, body),
    /** Applies on the server: creates or changes objects of any size. */
    apply: (path: string, body: KubernetesObject) =>
      ask('PATCH', `${path}/${body.metadata.name}?fieldManager=test&force=true`, body, 'application/apply-patch+yaml'),
    /** null when there is none. */
    find: <T = KubernetesObject>(path: string) =>
      ask<T>('GET', path).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null
        throw error
      }),
    answers: () =>
      text('GET', '/readyz').then(
        () => true,
        () => false,
      ),
    /** Calls back for every listed object and every change, and now and then for all objects again, until the process ends. */
    watch<T = KubernetesObject>(path: string, onEvent: (event: WatchEvent<T>) => void): void {
      const query = path.includes('?') ? '&watch=true' : '?watch=true'
      const options = { agent, host: control.address, port: apiPort, path: path + query, headers: authorization }
      const again = () => setTimeout(() => api.watch(path, onEvent), 300)
      const watching = httpsRequest(options, (response) => {
        response.once('close', again)
        if (response.statusCode !== 200) return void response.resume()
        const lines = createInterface({ input: response })
        lines.on('line', (line) => onEvent(JSON.parse(line) as WatchEvent<T>))
        // A server that dies cuts the watch, which is then opened again.
        lines.on('error', () => undefined)
      })
      watching.once('error', again).end()
    },
    close: () => agent.destroy(),
  }
  return api
}

function send(options: RequestOptions, body?: Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
      response.on('error', reject)
    })
    request.on('timeout', () => request.destroy(new Error('the API server does not answer')))
    request.on('error', reject)
    request.end(body)
  })
}

function messageOf(text: string) {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text
  } catch {
    return text.slice(0, 500)
  }
}

/** Waits for a condition that sends no notification. */
export async function until<T>(what: string, look: () => Promise<T | null | undefined | false>) {
  let last = ''
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(50)) {
    try {
      const seen = await look()
      if (seen) return seen
    } catch (error) {
      last = `: ${(error as Error).message}`
    }
  }
  throw new Error(`${what} did not happen within ${patienceMs / 1000} s${last}`)
}
