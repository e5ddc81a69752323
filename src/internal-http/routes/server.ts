import { z } from 'zod'
import { defineRoute } from '../../http/edge/route.ts'
import { reportServerReady } from '../../services/pods/report-server-ready.ts'
import { Done } from '../schemas/attempt.ts'

const ServerReadyRequest = z.object({
  endpoint: z.url({ protocol: /^https?$/ }).max(512),
  engine: z.string().max(64),
  version: z.string().max(64),
})

export const serverRoutes = [
  defineRoute({
    name: 'server_ready',
    method: 'post',
    path: '/internal/v1/server/ready',
    summary: 'A model server answers at this address',
    access: 'pod',
    body: ServerReadyRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await reportServerReady({ pod, input: body })
      return {}
    },
  }),
]
