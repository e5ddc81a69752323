// Tells which names in a request have no effect, and which ones were meant.
import { nearName } from './near-name.ts'
import type { TrainingNote } from './training-args.ts'

/** The old platform or its clients have these names. They change nothing here. */
const withoutEffect = new Set([
  ...['use_cached_model', 'multi_node', 'model_config'],
  ...['index_method', 'index_k', 'index_max_size', 'index_pq_m', 'index_pq_nbits', 'index_ivf_nlist'],
  ...['index_ivf_nprobe', 'index_hnsw_m', 'index_hnsw_efConstruction', 'index_hnsw_efSearch'],
  ...['max_finetuning_examples', 'temperature', 'base_model', 'bias', 'task_type'],
  ...['cache_id', 'reservation_id'],
])

/** Names that other programs use for ours. */
const otherNames: Readonly<Record<string, string>> = {
  ...{ lr: 'learning_rate', steps: 'max_steps', optimizer: 'optim', lr_scheduler: 'lr_scheduler_type' },
  ...{ epochs: 'num_train_epochs', num_epochs: 'num_train_epochs', n_epochs: 'num_train_epochs' },
  ...{ per_device_train_batch_size: 'batch_size', train_batch_size: 'batch_size', micro_batch_size: 'batch_size' },
  ...{ r: 'r_value', lora_r: 'r_value', rank: 'r_value', lora_rank: 'r_value', alpha: 'lora_alpha' },
  ...{ max_seq_length: 'max_length', max_seq_len: 'max_length', model_max_length: 'max_length' },
  ...{ save_total_limit: 'keep_checkpoints', early_stopping_patience: 'early_stopping' },
  ...{ peft_use_rslora: 'use_rslora', use_gradient_checkpointing: 'gradient_checkpointing' },
  ...{ excess_length_strategy: 'overlong', training_type: 'finetuning_type' },
  ...{ load_in_8bit: 'load_in_4bit', quantization_bit: 'load_in_4bit' },
  ...{ sample_packing: 'packing', neat_packing: 'packing' },
  ...{ max_completion_tokens: 'max_tokens', max_output_tokens: 'max_tokens', stop_sequences: 'stop' },
  ...{ train_on_inputs: 'train_on', train_on_input: 'train_on' },
  ...{ system_prompt: 'system', system_message: 'system', chat: 'as_chat', model: 'model_name' },
}

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

function proposalFor(name: string, known: readonly string[]): string | null {
  const other = otherNames[name.toLowerCase()]
  if (other !== undefined && known.includes(other)) return other
  return nearName(name, known)
}
