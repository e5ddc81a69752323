import type { z } from 'zod'
import { defineRoute, type Route } from '../../http/kit/route.ts'
import type { PodCtx } from '../../services/context.ts'
import { Done } from '../schemas/attempt.ts'

/** The path is below /internal/v1. */
type Report<B> = Pick<Route, 'name' | 'path' | 'summary' | 'bodyLimitBytes' | 'allowsNul'> & { body: B }

/** A route on which a pod tells something and is answered `{}`. */
export const reportRoute = <B extends z.ZodType>(
  { path, ...route }: Report<B>,
  report: (asked: { pod: PodCtx; input: z.output<B> }) => Promise<unknown>,
) =>
  defineRoute({
    ...route,
    path: `/internal/v1/${path}`,
    method: 'post',
    access: 'pod',
    response: Done,
    async handle({ caller: pod, body }) {
      await report({ pod, input: body as z.output<B> })
      return {}
    },
  })
