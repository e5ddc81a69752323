// MLflow's REST API 2.0, as far as a run needs it. Its server is a user's: what it answers is checked and bounded before it is
// used or stored, and an answer that is not MLflow's is the server's failure.
import { z } from 'zod'
import { sentenceOf, type Exchange } from '../webhooks/exchange.ts'

export type MetricPoint = { key: string; value: number; timestamp: number; step: number }
type Pair = { key: string; value: string }
export type RunStatus = 'RUNNING' | 'FINISHED' | 'FAILED' | 'KILLED'

const Id = z.string().regex(/^[\x21-\x7e]{1,256}$/)
/** No job has more steps. A server may write a step as text. */
const Step = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^\d{1,8}$/)
      .transform(Number),
  ])
  .pipe(z.int().min(0).max(10_000_000))
const Metric = z.object({ key: z.string(), step: z.unknown().optional() })
const Experiment = z.object({ experiment_id: Id })
const RunOfId = z.object({ info: z.object({ run_id: Id }) })
const RunState = z.object({
  info: z.object({ status: z.string().max(64) }),
  data: z.object({ metrics: z.array(Metric).nullish() }).nullish(),
})
const Refusal = z.object({
  error_code: z.string().max(100).catch(''),
  message: z.string().catch(''),
})
/** An answer of which nothing is read. */
const Nothing = z.object({})

/** The most points that MLflow takes in one call. */
export const pointsPerCall = 1000
/** The most parameters that MLflow takes in one call. */
const maxParams = 100
/** Of a parameter or a tag, in the oldest servers that take the rest. */
const maxValueLength = 250
const timeoutMs = 15_000
/** Many times the answer about a run that only we write to. */
const maxAnswerBytes = 1024 * 1024

/** Why a tracker did not take something, in a sentence. */
export class TrackerError extends Error {
  readonly code: string | null

  constructor(message: string, code: string | null = null) {
    super(message)
    this.code = code
  }
}

export type Mlflow = ReturnType<typeof createMlflow>

export function createMlflow(
  exchange: Exchange,
  {
    trackingUri,
    authorization,
    signal,
    beforeCall,
  }: {
    trackingUri: string
    authorization: string | null
    signal: AbortSignal
    /** No call is made when it rejects. */
    beforeCall: () => Promise<void>
  },
) {
  const base = `${trackingUri.replace(/(?<!\/)\/+$/, '')}/api/2.0/mlflow`

  return {
    /** Makes the experiment if there is none of this name. */
    async experimentId(name: string): Promise<string> {
      const found = await find(name)
      if (found !== null) return found
      try {
        return (await post('experiments/create', { name }, Experiment)).experiment_id
      } catch (error) {
        // Another job has just made it.
        if (!(error instanceof TrackerError) || error.code !== 'RESOURCE_ALREADY_EXISTS') throw error
        return (await find(name)) ?? fail(error)
      }
    },

    /** The run with this tag, made if there is none: an answer that was lost must not make a second run. */
    async openRun(
      experimentId: string,
      mark: Pair,
      run: { name: string; startTime: number; tags: Pair[] },
    ): Promise<string> {
      const search = {
        experiment_ids: [experimentId],
        filter: `tags."${mark.key}" = '${mark.value}'`,
        max_results: 1,
      }
      const { runs } = await post('runs/search', search, z.object({ runs: z.array(RunOfId).nullish() }))
      if (runs?.[0]) return runs[0].info.run_id
      const wanted = {
        ...{ experiment_id: experimentId, run_name: run.name, start_time: run.startTime },
        tags: [mark, ...run.tags].map(shortened),
      }
      return (await post('runs/create', wanted, z.object({ run: RunOfId }))).run.info.run_id
    },

    /** `lastStep`: the newest step that the run has a point of this key for; 0 without one. */
    async readRun(runId: string, key: string): Promise<{ status: string; lastStep: number }> {
      const path = 'runs/get'
      const { run } = await get(path, { run_id: runId }, z.object({ run: RunState }))
      const newest = run.data?.metrics?.find((metric) => metric.key === key)
      return { status: run.info.status, lastStep: checked(path, Step, newest?.step ?? 0) }
    },

    /** At most `pointsPerCall` points. */
    log: (runId: string, { metrics = [], tags = [] }: { metrics?: MetricPoint[]; tags?: Pair[] }) =>
      post('runs/log-batch', { run_id: runId, metrics, tags: tags.map(shortened) }, Nothing),

    async logParams(runId: string, params: readonly Pair[]) {
      for (let start = 0; start < params.length; start += maxParams)
        await post(
          'runs/log-batch',
          { run_id: runId, params: params.slice(start, start + maxParams).map(shortened) },
          Nothing,
        )
    },

    setStatus: (runId: string, status: RunStatus, endTime: number | null) =>
      post('runs/update', { run_id: runId, status, ...(endTime !== null && { end_time: endTime }) }, Nothing),
  }

  async function find(name: string): Promise<string | null> {
    try {
      const found = await get(
        'experiments/get-by-name',
        { experiment_name: name },
        z.object({ experiment: Experiment }),
      )
      return found.experiment.experiment_id
    } catch (error) {
      if (error instanceof TrackerError && error.code === 'RESOURCE_DOES_NOT_EXIST') return null
      throw error
    }
  }

  async function get<T>(path: string, query: Record<string, string>, schema: z.ZodType<T>): Promise<T> {
    return checked(path, schema, await ask('GET', `${path}?${new URLSearchParams(query).toString()}`))
  }

  async function post<T>(path: string, body: object, schema: z.ZodType<T>): Promise<T> {
    return checked(path, schema, await ask('POST', path, JSON.stringify(body)))
  }

  /** @returns what the JSON of a 200 answer holds @throws TrackerError */
  async function ask(method: 'GET' | 'POST', path: string, body?: string): Promise<unknown> {
    await beforeCall()
    const timeout = AbortSignal.timeout(timeoutMs)
    const headers = {
      'User-Agent': 'Anneal',
      ...(authorization !== null && { Authorization: authorization }),
      ...(body !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(body)),
      }),
    }
    const outgoing = { method, url: `${base}/${path}`, headers, ...(body !== undefined && { body }), maxAnswerBytes }
    const late = `No answer within ${timeoutMs / 1000} seconds.`
    const { statusCode, text, isCut } = await exchange({
      ...outgoing,
      signal: AbortSignal.any([signal, timeout]),
    }).catch((error: unknown) => fail(timeout.aborted ? late : sentenceOf(error)))
    if (statusCode !== 200) throw refusalOf(statusCode, text)
    if (isCut) fail(timeout.aborted ? late : `Its answer to ${nameOf(path)} was cut off, or is larger than 1 MiB.`)
    return parsed(text)
  }
}

function refusalOf(statusCode: number, text: string): TrackerError {
  const { error_code: code, message } = Refusal.safeParse(parsed(text)).data ?? { error_code: '', message: '' }
  const isRedirect = statusCode >= 300 && statusCode < 400
  const told = [printable(code), printable(message.slice(0, 300))].filter(Boolean).join(': ')
  const why = isRedirect ? ': redirects are not followed' : told === '' ? '' : ` (${told})`
  return new TrackerError(`It answered ${statusCode}${why}.`, code === '' ? null : code)
}

/** @throws TrackerError for an answer that is not MLflow's */
function checked<T>(path: string, schema: z.ZodType<T>, answer: unknown): T {
  const { data, error } = schema.safeParse(answer)
  if (!error) return data
  const field = error.issues[0]?.path.join('.') ?? ''
  return fail(`Its answer to ${nameOf(path)} is not that of an MLflow server${field === '' ? '' : ` (${field})`}.`)
}

const nameOf = (path: string) => path.replace(/\?.*/s, '')

/** Postgres takes no NUL, and a sentence has no other control characters either. */
const printable = (text: string) => text.replaceAll(/\p{Cc}/gu, ' ')

function fail(why: string | TrackerError): never {
  throw typeof why === 'string' ? new TrackerError(why) : why
}

const shortened = ({ key, value }: Pair): Pair => ({ key, value: value.slice(0, maxValueLength) })

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
