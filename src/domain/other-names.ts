// Names that other programs use for ours.

const ofArguments = {
  ...{ lr: 'learning_rate', steps: 'max_steps', optimizer: 'optim', lr_scheduler: 'lr_scheduler_type' },
  ...{ epochs: 'num_train_epochs', num_epochs: 'num_train_epochs', n_epochs: 'num_train_epochs' },
  ...{ per_device_train_batch_size: 'batch_size', train_batch_size: 'batch_size', micro_batch_size: 'batch_size' },
  ...{ r: 'r_value', lora_r: 'r_value', rank: 'r_value', lora_rank: 'r_value', alpha: 'lora_alpha' },
  ...{ max_seq_length: 'max_length', max_seq_len: 'max_length', model_max_length: 'max_length' },
  ...{ sequence_len: 'max_length', cutoff_len: 'max_length', max_prompt_length: 'max_length' },
  ...{ lora_target: 'target_modules', lora_target_modules: 'target_modules', lora_target_linear: 'target_modules' },
  ...{ random_state: 'seed', data_seed: 'seed' },
  ...{ save_total_limit: 'keep_checkpoints', early_stopping_patience: 'early_stopping' },
  ...{ peft_use_rslora: 'use_rslora', use_gradient_checkpointing: 'gradient_checkpointing' },
  ...{ excess_length_strategy: 'overlong', training_type: 'finetuning_type' },
  ...{ load_in_8bit: 'load_in_4bit', quantization_bit: 'load_in_4bit' },
  ...{ sample_packing: 'packing', neat_packing: 'packing' },
  ...{ max_completion_tokens: 'max_tokens', max_output_tokens: 'max_tokens', stop_sequences: 'stop' },
  ...{ train_on_inputs: 'train_on', train_on_input: 'train_on' },
  ...{ system_prompt: 'system', system_message: 'system', chat: 'as_chat', model: 'model_name' },
}

/** TRL, axolotl, LLaMA-Factory, Unsloth, Together, Fireworks, ms-swift and verl have these. */
const ofMethods = {
  ...{ rl_beta: 'beta', dpo_beta: 'beta', kto_beta: 'beta', pref_beta: 'beta', beta: 'kl_coefficient' },
  ...{ orpo_alpha: 'beta', pref_loss: 'loss_type' },
  ...{ dpo_label_smoothing: 'label_smoothing', dpo_reference_free: 'reference' },
  ...{ rpo_alpha: 'sft_weight', cpo_alpha: 'sft_weight', pref_ftx: 'sft_weight' },
  ...{ kto_desirable_weight: 'desirable_weight', kto_undesirable_weight: 'undesirable_weight' },
  ...{ kto_chosen_weight: 'desirable_weight', kto_rejected_weight: 'undesirable_weight' },
  ...{ num_generations: 'samples_per_prompt', group_size: 'samples_per_prompt', n: 'samples_per_prompt' },
  ...{ response_candidates_count: 'samples_per_prompt', num_generations_eval: 'eval_samples' },
  ...{ max_completion_length: 'max_completion_tokens', max_new_tokens: 'max_completion_tokens' },
  ...{ max_output_tokens: 'max_completion_tokens', max_response_length: 'max_completion_tokens' },
  ...{ epsilon_low: 'epsilon', clip_ratio: 'epsilon', cliprange: 'epsilon', clip_epsilon: 'epsilon' },
  ...{ clip_ratio_low: 'epsilon', clip_ratio_high: 'epsilon_high' },
  ...{ kl_coef: 'kl_coefficient', kl_beta: 'kl_coefficient', kl_loss_coef: 'kl_coefficient' },
  ...{ mask_truncated_completions: 'mask_truncated', overlong_filter: 'mask_truncated' },
  ...{ mu: 'num_iterations', ppo_epochs: 'num_iterations' },
  ...{ num_train_epochs: 'n_epochs', num_epochs: 'n_epochs', epochs: 'n_epochs' },
  ...{ per_device_train_batch_size: 'batch_size', micro_batch_size: 'batch_size' },
}

const found = (names: Readonly<Record<string, string>>, name: string, known: readonly string[]) => {
  const other = Object.hasOwn(names, name) ? names[name] : undefined
  return other !== undefined && known.includes(other) ? other : null
}

/** @returns the known name that means the same, or null */
export function sameName(given: string, known: readonly string[]): string | null {
  const name = given.toLowerCase()
  return found(ofMethods, name, known) ?? found(ofArguments, name, known)
}
