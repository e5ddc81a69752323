// A proxy before the API server, at the host's address. It counts calls and fails on purpose when told to. Its clients use
// tokens, because client certificates do not pass a proxy.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request as send } from 'node:https'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { runLabel } from '../../../src/compute/kubernetes/pods/labels.ts'
import { apiPort, type Cluster } from './settings.ts'

/** Shares are 0 to 1. Without a rule all calls pass. */
export type Faults = {
  /** The rule applies only to calls of these methods, or whose URL matches this expression. */
  methods?: string[]
  path?: string
  /** Answer this instead of asking the server. With `late` the server does the work and the client hears of a failure. */
  status?: 429 | 500 | 503
  share?: number
  late?: boolean
  /** Breaks the connection instead of answering `status`. */
  dropped?: boolean
  delayMs?: number
  /** Share of calls that are never answered. */
  blackhole?: number
  /** Share of watches that are cut after this time. */
  cutWatches?: number
  cutAfterMs?: number
}

export async function startFaultProxy({ pki, control, host }: Pick<Cluster, 'pki' | 'control' | 'host'>) {
  const file = (name: string) => readFileSync(join(pki, name))
  const agent = new Agent({ keepAlive: true, ca: file('ca.crt') })
  let faults: Faults = {}
  let calls: Record<string, number> = {}
  const server = createServer({ key: file('apiserver.key'), cert: file('apiserver.crt') }, (request, response) => {
    void handle(request, response)
  }).listen(apiPort, host.address)
  await once(server, 'listening')
  return {
    setFaults(next: Faults) {
      faults = next
    },
    calls: () => calls,
    forgetCalls() {
      calls = {}
    },
  }

  async function handle(request: IncomingMessage, response: ServerResponse) {
    const call = callOf(request)
    calls[call] = (calls[call] ?? 0) + 1
    const rule = applies(faults, request) ? faults : {}
    if (rule.delayMs) await sleep(rule.delayMs)
    if (chance(rule.blackhole ?? 0)) return
    const failing = (rule.status !== undefined || rule.dropped) && chance(rule.share ?? 1)
    if (failing && !rule.late) return refuse(rule, response)
    const { method, url: path, headers } = request
    const upstream = send({ agent, host: control.address, port: apiPort, method, path, headers }, (answer) => {
      if (failing) {
        answer.resume()
        return refuse(rule, response)
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.flushHeaders()
      // When the server dies in the middle of a watch, the client's connection breaks too.
      pipeline(answer, response, () => undefined)
      if (call.startsWith('watch ') && chance(rule.cutWatches ?? 0))
        setTimeout(() => response.destroy(), rule.cutAfterMs ?? 0)
    })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    request.pipe(upstream)
  }
}

function refuse({ status = 500, dropped }: Faults, response: ServerResponse) {
  if (dropped) return response.destroy()
  const reason = { 429: 'TooManyRequests', 500: 'InternalError', 503: 'ServiceUnavailable' }[status]
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'made to fail', reason, code: status }
  response.writeHead(status, { 'content-type': 'application/json', ...(status === 429 ? { 'retry-after': '1' } : {}) })
  response.end(JSON.stringify(body))
}

function applies({ methods, path }: Faults, { method = '', url = '' }: IncomingMessage) {
  return (!methods || methods.includes(method)) && (!path || new RegExp(path).test(url))
}

function chance(share: number) {
  return Math.random() < share
}

/** Names a call: `watch pods`, `create jobs`, `patch pods/status`; a list for one run is `list pods of a run`. */
function callOf({ method = '', url = '' }: IncomingMessage) {
  const { pathname, searchParams } = new URL(url, 'https://cluster')
  const inGroup = pathname.split('/').slice(pathname.startsWith('/apis/') ? 4 : 3)
  const [kind = pathname, name, part] = inGroup[0] === 'namespaces' && inGroup.length > 2 ? inGroup.slice(2) : inGroup
  const resource = part ? `${kind}/${part}` : kind
  if (method !== 'GET') return `${verbs[method] ?? method.toLowerCase()} ${resource}`
  if (searchParams.get('watch')) return `watch ${resource}`
  if (searchParams.get('labelSelector')?.includes(`${runLabel}=`)) return `list ${resource} of a run`
  return `${name ? 'get' : 'list'} ${resource}`
}

const verbs: Record<string, string> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }
