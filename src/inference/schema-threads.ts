// Work on the schemas of requests: the event loop does what takes it a few milliseconds, a thread does the rest.
import type { AnswerSchema } from '../domain/answer-schema/nodes.ts'
import { TooMuchWork } from '../domain/answer-schema/steps.ts'
import { workAtOnce, type Work } from '../domain/answer-schema/work.ts'
import { mapSchemas, schemasOf, type AskedSchema, type CallsOf, type SchemaShape } from '../domain/answer-shape.ts'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import { createThreads, neededTooMuchMemory, within } from '../worker-thread-pool.ts'
import { TooComplex } from './answer-grammar/rules.ts'
import { kindOf, operations, type OperationName } from './schema-operations.ts'
import type { ThreadAnswer, ThreadTask } from './schema-thread.ts'

const maxThreads = 2
/** The others find a free thread at any time. */
const maxThreadsOfAccount = 1
const heapLimitMegabytes = 256
/** Far more than the bounds of the work allow, also on a busy machine. */
const limitMs = 60_000

type Operations = typeof operations
type AskedShape<Name extends OperationName> =
  Parameters<Operations[Name]>[0] extends SchemaShape<AnswerSchema> ? SchemaShape<AskedSchema> : CallsOf<AskedSchema>
/** The operation's name, the shape of the answer, and the rest of the operation's input. */
export type OperationCall<Name extends OperationName> = [Name, AskedShape<Name>, Parameters<Operations[Name]>[1]]
export type OperationResult<Name extends OperationName> = ReturnType<Operations[Name]>
type Caller = { accountId: string; signal: AbortSignal }

export type SchemaThreads = ReturnType<typeof createSchemaThreads>

export function createSchemaThreads({ atMostMs = limitMs }: { atMostMs?: number } = {}) {
  const module = new URL('./schema-thread.ts', import.meta.url)
  const threads = createThreads(module, {
    atMost: maxThreads,
    atMostOfAccount: maxThreadsOfAccount,
    heapLimitMegabytes,
  })
  /** Results by the first schema of a request: its choices and tries ask the same again. */
  const known = new WeakMap<AskedSchema, Map<string, unknown>>()

  /** @throws ServiceError invalid_input, TooComplex, the signal's reason */
  async function inThread(task: ThreadTask, { accountId, signal }: Caller): Promise<unknown> {
    try {
      const answer = await threads.use(
        (ask) => within(atMostMs, ask(task) as Promise<ThreadAnswer>, () => new TooComplex()),
        signal,
        accountId,
      )
      if ('result' in answer) return answer.result
      if ('isTooComplex' in answer) throw new TooComplex()
      throw new ServiceError('invalid_input', answer.refusal.message, { issues: answer.refusal.issues })
    } catch (error) {
      throw neededTooMuchMemory(error) ? new TooComplex() : error
    }
  }

  return {
    /** @throws ServiceError invalid_input with the path of what is refused, the signal's reason */
    async read(schemas: readonly AskedSchema[], caller: Caller): Promise<void> {
      const functions = schemas.map((schema) => ({ name: '', schema }))
      const shape: CallsOf<AskedSchema> = {
        kind: 'calls',
        functions,
        isRequired: false,
        mayBeSeveral: false,
        content: null,
      }
      await inThread({ name: 'read', shape, input: null }, caller).catch((error: unknown) => {
        throw error instanceof TooComplex && schemas[0] ? tooLongToRead(schemas[0]) : error
      })
    },

    /** @throws ServiceError invalid_input, TooComplex, the signal's reason */
    async run<Name extends OperationName>(
      caller: Caller,
      ...[name, shape, input]: OperationCall<Name>
    ): Promise<OperationResult<Name>> {
      const results = resultsOf(known, schemasOf(shape)[0])
      const key = kindOf(name) === 'check' ? null : JSON.stringify([name, input])
      const found = key === null ? undefined : results.get(key)
      const result =
        found ??
        resultAtOnce(name, shape, input) ??
        (await inThread(
          { name, shape: mapSchemas(shape, ({ at, text }) => ({ at, text, parts: null })), input },
          caller,
        ))
      if (key !== null) results.set(key, result)
      return result as OperationResult<Name>
    },
  }
}

/** @returns null where the event loop may not take the time. No operation has the result null. */
function resultAtOnce(
  name: OperationName,
  shape: SchemaShape<AskedSchema> | CallsOf<AskedSchema>,
  input: unknown,
): unknown {
  if (schemasOf(shape).some(({ parts }) => !parts)) return null
  const operation = operations[name] as (shape: unknown, input: unknown, work: Work) => unknown
  try {
    const read = mapSchemas(shape, ({ parts }) => parts as AnswerSchema)
    return operation(read, input, workAtOnce(kindOf(name)))
  } catch (error) {
    if (error instanceof TooMuchWork) return null
    throw error
  }
}

function resultsOf(known: WeakMap<AskedSchema, Map<string, unknown>>, schema: AskedSchema | undefined) {
  const results = (schema && known.get(schema)) ?? new Map<string, unknown>()
  if (schema) known.set(schema, results)
  return results
}

const tooLongToRead = ({ at }: AskedSchema) =>
  invalidInput(at, `${at} takes too long to read: use fewer or smaller patterns, lists of values and alternatives.`)
