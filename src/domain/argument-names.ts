// Tells which names in a request have no effect, and which ones were meant.
import { nearName } from './near-name.ts'
import { sameName } from './other-names.ts'
import type { TrainingNote } from './training-args.ts'

/** The old platform or its clients have these names. They change nothing here. */
const withoutEffect = new Set([
  ...['use_cached_model', 'multi_node', 'model_config'],
  ...['index_method', 'index_k', 'index_max_size', 'index_pq_m', 'index_pq_nbits', 'index_ivf_nlist'],
  ...['index_ivf_nprobe', 'index_hnsw_m', 'index_hnsw_efConstruction', 'index_hnsw_efSearch'],
  ...['max_finetuning_examples', 'temperature', 'base_model', 'bias', 'task_type'],
  ...['cache_id', 'reservation_id'],
])

const maxNames = 20
export const ignored = (message: string): TrainingNote => ({ code: 'argument_ignored', message })

/**
 * @param within the field that holds the names; null for the body itself
 * @param known the names that have an effect there
 * @param elsewhere names that have an effect in another field
 */
export function notesOnNames(
  within: string | null,
  sent: Readonly<Record<string, unknown>>,
  known: readonly string[],
  elsewhere: readonly { field: string; names: readonly string[] }[] = [],
): TrainingNote[] {
  const has = new Set(known)
  const names = Object.keys(sent).filter((name) => !has.has(name) && (sent[name] ?? null) !== null)
  const old = names.filter((name) => withoutEffect.has(name))
  const unknown = names.filter((name) => !withoutEffect.has(name))
  const prefix = within === null ? '' : `${within}.`
  return [
    ...(old.length > 0 ? [ignored(`${old.map((name) => prefix + name).join(', ')}: no effect here.`)] : []),
    ...unknown.slice(0, maxNames).map((name) => {
      const same = elsewhere.find(({ names: there }) => there.includes(name))
      const meant = same ? `${same.field}.${name}` : (proposalFor(name, known) ?? proposalIn(name, elsewhere))
      const quoted = JSON.stringify(name.slice(0, 64))
      const shown = within === null ? quoted : `${within}[${quoted}]`
      return ignored(`${shown} is not known and has no effect.${meant ? ` Did you mean ${meant}?` : ''}`)
    }),
    ...(unknown.length > maxNames
      ? [ignored(`${unknown.length - maxNames} more names in ${within ?? 'the body'} are not known.`)]
      : []),
  ]
}

const proposalIn = (name: string, fields: readonly { field: string; names: readonly string[] }[]) =>
  fields
    .map(({ field, names }) => ({ field, near: proposalFor(name, names) }))
    .flatMap(({ field, near }) => (near === null ? [] : [`${field}.${near}`]))[0] ?? null

const proposalFor = (name: string, known: readonly string[]) => sameName(name, known) ?? nearName(name, known)
