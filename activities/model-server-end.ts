// Why a model server ended: a cause for the policy, a sentence for callers, and the end of its log for operators.
import type { ModelServerCompute } from '../src/compute/model-servers.ts'
import type { EndState, RunRef } from '../src/compute/run.ts'
import type { AttemptCause } from '../src/domain/attempt-cause.ts'
import type { ModelServerEnd } from '../src/domain/model-server.ts'
import { causeOfFailure } from './attempt-cause.ts'

const logTailBytes = 4096
const logTailLines = 8

export async function describeModelServerEnd(
  compute: Pick<ModelServerCompute, 'readLogTail'>,
  run: RunRef,
  end: EndState,
): Promise<ModelServerEnd> {
  const log = await compute.readLogTail(run, logTailBytes)
  const tail = (log ?? '').trimEnd().split('\n').slice(-logTailLines)
  const { cause, message } = readEnd(end)
  return { cause, message: [message, ...tail].join('\n').trimEnd() }
}

const sentences: Partial<Record<AttemptCause, string>> = {
  model_unavailable: 'The weights of the model cannot be found or loaded.',
  out_of_memory: 'The model server ran out of memory.',
  unsupported_runtime: "The model server's runtime image is of another version than this service.",
}

function readEnd(end: EndState): ModelServerEnd {
  if (end.state === 'gone')
    return { cause: 'lost', message: 'The model server is gone, and its exit code was not recorded.' }
  if (end.state === 'succeeded')
    return { cause: 'code_error', message: 'The program of the model server ended by itself.' }
  const cause = causeOfFailure(end)
  return { cause, message: (end.reason === 'exited' ? sentences[cause] : undefined) ?? end.message }
}
