// The connection to the API server. client-node's KubeConfig gives the address and the credentials; kept-alive
// connections of our own carry the calls, because the library would make a TLS connection for each.
import { KubeConfig } from '@kubernetes/client-node'
import http from 'node:http'
import https from 'node:https'

export type HttpExchange = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Includes the query. */
  path: string
  body?: { type: string; text: string }
  signal: AbortSignal
}

export type Connection = {
  /** Resolves once the answer's head has arrived. Rejects when none arrives. */
  send(exchange: HttpExchange): Promise<http.IncomingMessage>
  close(): void
}

/** As a pod's service account in a cluster, otherwise as KUBECONFIG or ~/.kube/config says. */
export function connectToCluster(): Connection {
  const config = new KubeConfig()
  config.loadFromDefault()
  return createConnection(config)
}

export function createConnection(config: Pick<KubeConfig, 'applyToHTTPSOptions' | 'getCurrentCluster'>): Connection {
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new Error('No Kubernetes cluster is configured. Set KUBECONFIG, or run the worker in a pod.')
  const server = new URL(cluster.server)
  const { request, Agent } = server.protocol === 'http:' ? http : https
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 16 })

  async function send({ method, path, body, signal }: HttpExchange): Promise<http.IncomingMessage> {
    const identity: https.RequestOptions = {}
    // Called each time because tokens are renewed.
    await config.applyToHTTPSOptions(identity)
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const sent = request({
      ...identity,
      ...(!cluster?.proxyUrl && { agent }),
      protocol: server.protocol,
      host: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port,
      path: `${server.pathname.replace(/\/$/, '')}${path}`,
      method,
      signal,
      headers: {
        ...(identity.headers as http.OutgoingHttpHeaders),
        accept: 'application/json',
        'user-agent': 'anneal-worker',
        ...(body && { 'content-type': body.type, 'content-length': Buffer.byteLength(body.text) }),
      },
    })
    sent.on('response', resolve)
    sent.on('error', reject)
    sent.end(body?.text)
    return promise
  }

  return { send, close: () => agent.destroy() }
}
