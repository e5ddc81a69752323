// MLflow's REST API 2.0, as far as a run needs it.
import { sentenceOf, type Exchange } from '../webhooks/exchange.ts'

export type MetricPoint = { key: string; value: number; timestamp: number; step: number }
type Pair = { key: string; value: string }
export type RunStatus = 'RUNNING' | 'FINISHED' | 'FAILED' | 'KILLED'
type Run = {
  info: { run_id: string; status: RunStatus }
  data?: { metrics?: { key: string; step: number | string }[] }
}

/** The most points that MLflow takes in one call. */
export const pointsPerCall = 1000
/** The most parameters that MLflow takes in one call. */
const maxParams = 100
/** Of a parameter or a tag, in the oldest servers that take the rest. */
const maxValueLength = 250
const timeoutMs = 15_000
const maxAnswerBytes = 4 * 1024 * 1024

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
        return (await post<{ experiment_id: string }>('experiments/create', { name })).experiment_id
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
      const { runs = [] } = await post<{ runs?: Run[] }>('runs/search', {
        experiment_ids: [experimentId],
        filter: `tags."${mark.key}" = '${mark.value}'`,
        max_results: 1,
      })
      if (runs[0]) return runs[0].info.run_id
      const { run: made } = await post<{ run: Run }>('runs/create', {
        ...{ experiment_id: experimentId, run_name: run.name, start_time: run.startTime },
        tags: [mark, ...run.tags].map(shortened),
      })
      return made.info.run_id
    },

    /** `lastStep`: the newest step that the run has a point of this key for; 0 without one. */
    async readRun(runId: string, key: string): Promise<{ status: RunStatus; lastStep: number }> {
      const { run } = await get<{ run: Run }>('runs/get', { run_id: runId })
      const newest = run.data?.metrics?.find((metric) => metric.key === key)
      return { status: run.info.status, lastStep: Number(newest?.step ?? 0) }
    },

    /** At most `pointsPerCall` points. */
    log: (runId: string, { metrics = [], tags = [] }: { metrics?: MetricPoint[]; tags?: Pair[] }) =>
      post('runs/log-batch', { run_id: runId, metrics, tags: tags.map(shortened) }),

    async logParams(runId: string, params: readonly Pair[]) {
      for (let start = 0; start < params.length; start += maxParams)
        await post('runs/log-batch', { run_id: runId, params: params.slice(start, start + maxParams).map(shortened) })
    },

    setStatus: (runId: string, status: RunStatus, endTime: number | null) =>
      post('runs/update', { run_id: runId, status, ...(endTime !== null && { end_time: endTime }) }),
  }

  async function find(name: string): Promise<string | null> {
    try {
      const answer = await get<{ experiment: { experiment_id: string } }>('experiments/get-by-name', {
        experiment_name: name,
      })
      return answer.experiment.experiment_id
    } catch (error) {
      if (error instanceof TrackerError && error.code === 'RESOURCE_DOES_NOT_EXIST') return null
      throw error
    }
  }

  function get<T>(path: string, query: Record<string, string>) {
    return ask<T>('GET', `${path}?${new URLSearchParams(query).toString()}`)
  }

  function post<T = unknown>(path: string, body: object) {
    return ask<T>('POST', path, JSON.stringify(body))
  }

  async function ask<T>(method: 'GET' | 'POST', path: string, body?: string): Promise<T> {
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
    const { statusCode, text } = await exchange({ ...outgoing, signal: AbortSignal.any([signal, timeout]) }).catch(
      (error: unknown) => fail(timeout.aborted ? `No answer within ${timeoutMs / 1000} seconds.` : sentenceOf(error)),
    )
    const answer = parsed(text)
    if (statusCode === 200 && answer) return answer as T
    const { error_code: code = null, message = '' } = (answer ?? {}) as { error_code?: string; message?: string }
    const why = [code, String(message).slice(0, 300)].filter(Boolean).join(': ')
    throw new TrackerError(`It answered ${statusCode}${why === '' ? '' : ` (${why})`}.`, code)
  }
}

function fail(why: string | TrackerError): never {
  throw typeof why === 'string' ? new TrackerError(why) : why
}

const shortened = ({ key, value }: Pair): Pair => ({ key, value: value.slice(0, maxValueLength) })

function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
