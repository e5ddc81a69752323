// Rows in, choices out: split into chunks of the engine's size, several at once, back in order.
import type { CatalogueEntry } from '../domain/catalogue.ts'
import type { Adapter } from './adapters.ts'
import { runConcurrently, splitIntoChunks } from './chunks.ts'
import { requestCompletions, type Choice } from './engine-client.ts'
import { naming } from './input-errors.ts'
import { onServer, type Servers, type Target } from './on-server.ts'

/** Null: the default. `seed` null: another answer each time, where the temperature is not 0. */
type Sampling = {
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  seed: number | null
  stop: readonly string[]
}

export type GenerationInput = {
  baseModel: CatalogueEntry
  adapter: Adapter | null
  sampling: Sampling
  signal: AbortSignal
}

export type Row = { index: number; prompt: string }
/** What may go to the engine together: rows of one grammar and one length. */
export type RowGroup = { rows: Row[]; regex: string | null; maxTokens: number }

/** @returns the answers at their rows' indexes */
export async function generate(
  servers: Servers,
  { baseModel, adapter, sampling, signal }: GenerationInput,
  groups: readonly RowGroup[],
  seed: number | null,
): Promise<Choice[]> {
  const target: Target = { baseModel: baseModel.name, adapter }
  const chunkSize = Math.min(Math.max(baseModel.maxBatch, 16), 256)
  const chunks = groups.flatMap(({ rows, ...shared }) =>
    splitIntoChunks(rows, chunkSize, ({ prompt }) => prompt.length).map((rows) => ({ rows, ...shared })),
  )
  const choices: Choice[] = []
  await runConcurrently(chunks, signal, async ({ rows, regex, maxTokens }, chunkSignal) => {
    const request = {
      prompts: rows.map(({ prompt }) => prompt),
      regex,
      maxTokens,
      temperature: sampling.temperature ?? 0,
      topP: sampling.topP ?? 1,
      seed,
      // A stop would leave a typed answer open.
      stop: regex === null ? sampling.stop : [],
    }
    const answers = await naming(baseModel, rows, () =>
      onServer(servers, target, chunkSignal, (endpoint, model) =>
        requestCompletions(endpoint, { model, ...request }, chunkSignal),
      ),
    )
    rows.forEach(({ index }, at) => (choices[index] = answers[at] as Choice))
  })
  return choices
}
