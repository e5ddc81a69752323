// A job's series as an event file of TensorBoard. It is written on each read and stored nowhere.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { eventFileHeader, eventRecord } from '../../domain/event-file.ts'
import type { MetricRow } from '../../repositories/job-details.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

const stepsPerPage = 1000
/** The records of so many steps take about ten milliseconds. */
const stepsPerTurn = 100

/** Yields the file a page of steps at a time: the steps so far, while the job trains. @throws ServiceError not_found */
export async function readTensorBoardFile({
  ctx,
  input,
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<AsyncGenerator<Buffer>> {
  const { id, createdAt } = await findTrainingJob(ctx, input.jobId)
  const { trainingSteps } = ctx.deps.database
  // Read before the answer begins: a failure here is still an ordinary error answer.
  const first = await trainingSteps.page(id, { after: 0, limit: stepsPerPage })
  return (async function* () {
    yield eventFileHeader(createdAt.getTime())
    for (let steps = first; steps.length > 0;) {
      for (let first = 0; first < steps.length; first += stepsPerTurn) {
        yield Buffer.concat(steps.slice(first, first + stepsPerTurn).flatMap(recordsOf))
        await nextTurn()
      }
      if (steps.length < stepsPerPage) return
      steps = await trainingSteps.page(id, { after: steps.at(-1)?.row.step ?? 0, limit: stepsPerPage })
    }
  })()
}

function recordsOf({ at, row: { step, ...series } }: { at: Date; row: MetricRow }): Buffer[] {
  return Object.entries(series).flatMap(([tag, value]) =>
    value === null ? [] : eventRecord({ tag, step, value: value as number, atMs: at.getTime() }),
  )
}
