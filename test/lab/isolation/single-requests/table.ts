// The extreme requests of each public route. test/lab/isolation/single-requests/table.test.ts says which routes need one.
import { conversations } from './conversations.ts'
import { data } from './data.ts'
import { evals } from './evals.ts'
import type { Extreme } from './extreme.ts'
import { files } from './files.ts'
import { inference } from './inference.ts'
import { service } from './service.ts'
import { training } from './training.ts'

export const extremes: Readonly<Record<string, readonly Extreme[]>> = {
  ...inference,
  ...conversations,
  ...data,
  ...files,
  ...training,
  ...evals,
  ...service,
}
