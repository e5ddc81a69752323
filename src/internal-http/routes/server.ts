import { z } from 'zod'
import { reportServerLoading } from '../../services/attempt-api/report-loading.ts'
import { reportReplicaLeaving, reportServerReady } from '../../services/attempt-api/report-server-ready.ts'
import { LoadingRequest } from '../schemas/attempt.ts'
import { reportRoute } from './report.ts'

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
  reportRoute(
    {
      name: 'server_ready',
      path: 'server/ready',
      summary: 'Report that a replica of a model server is ready at an address',
      body: ServerReadyRequest,
    },
    ({ pod, input: { endpoint: url, ...report } }) => reportServerReady({ pod, input: { url, ...report } }),
  ),
  reportRoute(
    {
      name: 'server_loading',
      path: 'server/loading',
      summary: 'Report how far a model server is with fetching its model',
      body: LoadingRequest,
    },
    reportServerLoading,
  ),
  reportRoute(
    {
      name: 'server_leaving',
      path: 'server/leaving',
      summary: 'Report that a replica of a model server stops taking requests',
      body: ServerLeavingRequest,
    },
    reportReplicaLeaving,
  ),
]
