// Runs in a thread: reads, writes and checks the large schemas of requests.
import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { AnswerSchema } from '../domain/answer-schema/nodes.ts'
import { readSchema } from '../domain/answer-schema/read-schema.ts'
import { TooMuchWork } from '../domain/answer-schema/steps.ts'
import { newWork, type Work } from '../domain/answer-schema/work.ts'
import { mapSchemas, type AskedSchema, type CallsOf, type SchemaShape } from '../domain/answer-shape.ts'
import { ServiceError, type InputIssue } from '../domain/service-error.ts'
import { TooComplex } from './answer-grammar/rules.ts'
import { kindOf, operations, type OperationName } from './schema-operations.ts'

export type ThreadTask = {
  name: OperationName
  shape: SchemaShape<AskedSchema> | CallsOf<AskedSchema>
  input: unknown
}
export type ThreadAnswer =
  { result: unknown } | { refusal: { message: string; issues: InputIssue[] } } | { isTooComplex: true }

type ReadShape = SchemaShape<AnswerSchema> | CallsOf<AnswerSchema>

/** Each takes up to tens of megabytes. */
const maxKept = 2
const kept = new Map<string, ReadShape>()

// Where processors are few, the event loop goes first. Only Linux does this for a thread alone.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

parentPort?.on('message', (task: ThreadTask) => parentPort?.postMessage(answer(task)))

function answer({ name, shape, input }: ThreadTask): ThreadAnswer {
  try {
    const read = readOnce(shape)
    const operation = operations[name] as (shape: ReadShape, input: unknown, work: Work) => unknown
    return { result: operation(read, input, newWork(kindOf(name))) }
  } catch (error) {
    const isOfAPlace = error instanceof ServiceError && error.issues.length > 0
    if (isOfAPlace) return { refusal: { message: error.message, issues: error.issues } }
    if (error instanceof TooComplex || error instanceof TooMuchWork) return { isTooComplex: true }
    throw error
  }
}

/** An answer needs its schemas three times or more. */
function readOnce(shape: ThreadTask['shape']): ReadShape {
  const key = JSON.stringify(shape)
  const work = newWork()
  const read = kept.get(key) ?? mapSchemas(shape, ({ at, text }) => readSchema(JSON.parse(text), at, work))
  kept.delete(key)
  kept.set(key, read)
  const [oldest] = kept.keys()
  if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
  return read
}
