import { z } from 'zod'
import { defineRoute } from '../../http/kit/route.ts'
import { reportServerLoading } from '../../services/attempt-api/report-loading.ts'
import { reportReplicaLeaving, reportServerReady } from '../../services/attempt-api/report-server-ready.ts'
import { Done, LoadingRequest } from '../schemas/attempt.ts'

const Instance = z.string().regex(/^[A-Za-z0-9._-]{1,128}$/)

const ServerReadyRequest = z.object({
  endpoint: z.url({ protocol: /^https?$/ }).max(512),
  engine: z.string().max(64),
  version: z.string().max(64),
  /** Model servers without replicas send no instance. */
  instance: Instance.default('only'),
})

const ServerLeavingRequest = z.object({ instance: Instance })

export const serverRoutes = [
  defineRoute({
    name: 'server_ready',
    method: 'post',
    path: '/internal/v1/server/ready',
    summary: 'Report that a replica of a model server is ready at an address',
    access: 'pod',
    body: ServerReadyRequest,
    response: Done,
    async handle({ caller: pod, body: { endpoint: url, ...report } }) {
      await reportServerReady({ pod, input: { url, ...report } })
      return {}
    },
  }),
  defineRoute({
    name: 'server_loading',
    method: 'post',
    path: '/internal/v1/server/loading',
    summary: 'Report how far a model server is with fetching its model',
    access: 'pod',
    body: LoadingRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await reportServerLoading({ pod, input: body })
      return {}
    },
  }),
  defineRoute({
    name: 'server_leaving',
    method: 'post',
    path: '/internal/v1/server/leaving',
    summary: 'Report that a replica of a model server stops taking requests',
    access: 'pod',
    body: ServerLeavingRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await reportReplicaLeaving({ pod, input: body })
      return {}
    },
  }),
]
