// Why a model server ended: a cause for the policy, a sentence for callers, and the end of its log for operators.
import type { Compute, EndState, RunRef } from '../src/compute/compute.ts'
import { causeOfExit } from '../src/domain/attempt-cause.ts'
import type { ModelServerEnd } from '../src/domain/model-server.ts'

const logTailBytes = 4096
const logTailLines = 8

export async function describeModelServerEnd(compute: Compute, run: RunRef, end: EndState): Promise<ModelServerEnd> {
  const log = await compute.readLogs(run, { offsetBytes: -logTailBytes })
  const tail = (log?.text ?? '').trimEnd().split('\n').slice(-logTailLines)
  const { cause, message } = causeOfEnd(end)
  return { cause, message: [message, ...tail].join('\n').trimEnd() }
}

function causeOfEnd(end: EndState): ModelServerEnd {
  if (end.state === 'gone') return { cause: 'lost', message: 'Its process is gone, and nobody saw how it ended.' }
  if (end.state === 'succeeded') return { cause: 'code_error', message: 'Its program ended by itself.' }
  if (end.reason !== 'exited') return { cause: end.reason, message: end.message }
  const cause = causeOfExit(end.exitCode)
  const sentences: Partial<Record<typeof cause, string>> = {
    model_unavailable: 'Its weights cannot be found or loaded.',
    out_of_memory: 'It ran out of memory.',
    unsupported_runtime: 'Its program is of another version than this service.',
  }
  return { cause, message: sentences[cause] ?? end.message }
}
