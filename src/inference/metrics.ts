// Prometheus numbers of the request path, by base model: as many series as the catalogue has models.
import { Counter, Gauge, Histogram, type Metric } from 'prom-client'
import type { Usage } from './meter.ts'

export type InferenceMetrics = ReturnType<typeof createInferenceMetrics>

/** Metrics of this process. @param measureQueue prompts of each model that has requests under way */
export function createInferenceMetrics(
  measureQueue: () => Iterable<[model: string, waiting: number, running: number]>,
) {
  const of = (name: string, help: string) => ({ name: `anneal_inference_${name}`, help, registers: [] })
  const queue = new Gauge({
    ...of('queue_prompts', 'Prompts that wait for their turn, and prompts that are with the engines.'),
    labelNames: ['model', 'state'] as const,
    collect() {
      this.reset()
      for (const [model, waiting, running] of measureQueue()) {
        this.set({ model, state: 'waiting' }, waiting)
        this.set({ model, state: 'running' }, running)
      }
    },
  })
  const tokens = new Counter({
    ...of('tokens_total', 'Tokens that the engines read (in) and wrote (out); their rate is the tokens per second.'),
    labelNames: ['model', 'direction'] as const,
  })
  const firstToken = new Histogram({
    ...of('first_token_seconds', 'Seconds from the acceptance of a streamed request to its first text.'),
    labelNames: ['model'] as const,
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 80],
  })
  const adapters = new Counter({
    ...of(
      'adapter_cache_total',
      'Calls to tuned models whose replica had the adapter (hit), or had to load it (miss).',
    ),
    labelNames: ['model', 'result'] as const,
  })
  const all: Metric[] = [queue, tokens, firstToken, adapters]
  return {
    all,
    countTokens(model: string, { promptTokens, completionTokens }: Usage) {
      tokens.inc({ model, direction: 'in' }, promptTokens)
      tokens.inc({ model, direction: 'out' }, completionTokens)
    },
    observeFirstToken: (model: string, seconds: number) => firstToken.observe({ model }, seconds),
    countAdapter: (model: string, isLoaded: boolean) => adapters.inc({ model, result: isLoaded ? 'hit' : 'miss' }),
  }
}
