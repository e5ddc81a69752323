// What clients of the old platform send as finetune_args and peft_args: every name and type that its documentation and its
// published examples have.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { SentFinetuneArgs, SentPeftArgs } from '../../src/domain/sent-args.ts'
import { resolveTrainingArgs } from '../../src/domain/training-args.ts'

const entry = { name: 'tiny', contextLength: 8192, maxRank: 64, recommendedArgs: {} }
const read = (sent: object) => {
  const { args, notes } = SentFinetuneArgs.parse(sent)
  return { args: resolveTrainingArgs(args, entry).args, told: notes.map(({ message }) => message) }
}

/** The tuning guide, the list of hyperparameters, the questions and answers, and the scripts of the old platform. */
const documented: object[] = [
  { learning_rate: 1.0e-4 },
  { max_steps: 60, early_stopping: false, load_best_model_at_end: false },
  { learning_rate: 5e-5, max_steps: 1000, early_stopping: true, optim: 'sgd' },
  { learning_rate: 1.0e-7, optim: 'adam' },
  { max_steps: 50, r_value: 32, learning_rate: 0.0003 },
  { max_steps: 500, learning_rate: 0.00001 },
  ...['adamw_hf', 'adamw_torch', 'adamw_torch_fused', 'adamw_apex_fused', 'adamw_anyprecision', 'adafactor'].map(
    (optim) => ({ optim }),
  ),
  { base_model: 'hf-internal-testing/tiny-random-MistralForCausalLM', max_steps: 10, index_method: 'IndexFlatL2' },
  { batch_size: 1, index_ivf_nlist: 1, index_method: 'IndexFlatL2', index_max_size: 1 },
  {
    ...{ gradient_accumulation_steps: 4, index_k: 2, index_max_size: 65536, index_method: 'IndexFlatL2' },
    ...{ learning_rate: 0.0003, max_length: 512, max_steps: 10000, index_ivf_nlist: 2048 },
    ...{ max_finetuning_examples: 10000, r_value: 64 },
  },
  { index_method: 'IndexIVFPQ', index_pq_m: 8, index_pq_nbits: 8, index_ivf_nlist: 2048, index_ivf_nprobe: 48 },
  { index_method: 'IndexHNSWPQ', index_hnsw_m: 32, index_hnsw_efConstruction: 16, index_hnsw_efSearch: 8 },
  { save_steps: 60 },
  { save_steps: 0.1 },
  { batch_size: 1, early_stopping: false, num_train_epochs: 3, temperature: 0, lora_alpha: 1 },
  { lora_dropout: 0, target_modules: ['q_proj', 'v_proj'], bias: 'none', task_type: 'CAUSAL_LM' },
]

/** Arguments of transformers, to which the documentation points. */
const ofTransformers: object[] = [
  ...['linear', 'cosine', 'cosine_with_restarts', 'polynomial', 'constant', 'constant_with_warmup'].map((name) => ({
    lr_scheduler_type: name,
  })),
  ...['inverse_sqrt', 'reduce_lr_on_plateau', 'warmup_stable_decay'].map((name) => ({ lr_scheduler_type: name })),
  { max_steps: -1, num_train_epochs: 3.0, warmup_steps: 0, weight_decay: 0.0, max_grad_norm: 1.0, seed: 42 },
  { per_device_train_batch_size: 8, logging_steps: 10, fp16: true, report_to: 'none', output_dir: './out' },
  { eval_steps: 0.5, evaluation_strategy: 'steps', metric_for_best_model: 'eval_loss', greater_is_better: false },
]

suite('Arguments of the old platform', () => {
  for (const sent of [...documented, ...ofTransformers])
    test(`takes ${JSON.stringify(sent).slice(0, 120)}`, () => assert.ok(read(sent).args))

  test('early_stopping and load_best_model_at_end as booleans mean the defaults, or none', () => {
    const { early_stopping, keep } = read({ early_stopping: true, load_best_model_at_end: true }).args
    assert.deepEqual([early_stopping, keep], [{ patience: 3, min_delta: 0 }, 'best'])
    const off = read({ early_stopping: false, load_best_model_at_end: false }).args
    assert.deepEqual([off.early_stopping, off.keep], [null, 'last'])
    assert.equal(read({ keep: 'last', load_best_model_at_end: true }).args.keep, 'last')
    assert.deepEqual(read({ early_stopping: { patience: 2 } }).args.early_stopping, { patience: 2, min_delta: 0 })
  })

  test('packing as a boolean means auto or off, and the arguments of a request without it have none', () => {
    const sent = [true, 'auto', false, 'off'].map((packing) => read({ packing }))
    assert.deepEqual(
      sent.map(({ args }) => args.packing),
      ['auto', 'auto', 'off', 'off'],
    )
    assert.deepEqual(
      sent.flatMap(({ told }) => told),
      [],
    )
    // A specification with one more name has another spec_hash.
    for (const packing of [undefined, null]) assert.ok(!('packing' in read({ packing }).args))
    assert.ok(!SentFinetuneArgs.safeParse({ packing: 'always' }).success)
  })

  test('a learning rate that YAML made a text is its number', () => {
    for (const [text, value] of [
      ['3e-5', 3e-5],
      ['1E-4', 1e-4],
      ['0.001', 0.001],
    ] as const)
      assert.equal(read({ learning_rate: text }).args.learning_rate, value)
    for (const learning_rate of ['fast', '0x1', '', ' ', '1e-4 ', 'Infinity', '-1e-4'])
      assert.ok(!SentFinetuneArgs.safeParse({ learning_rate }).success, learning_rate)
  })

  test('a share of the steps is of max_steps, and of nothing in a run by epochs', () => {
    const { save_steps, eval_steps } = read({ max_steps: 500, save_steps: 0.1, eval_steps: 0.5 }).args
    assert.deepEqual([save_steps, eval_steps], [50, 250])
    assert.equal(read({ save_steps: 0.25 }).args.save_steps, 25)
    const byEpochs = read({ num_train_epochs: 2, save_steps: 0.1 })
    assert.equal(byEpochs.args.save_steps, 60)
    assert.match(byEpochs.told.join(), /^save_steps 0\.1 is a share of max_steps/)
    for (const save_steps of [0, -1, 1.5, 10_000_001]) assert.ok(!SentFinetuneArgs.safeParse({ save_steps }).success)
  })

  test('max_steps -1 is no limit of steps, as transformers has it', () => {
    const { max_steps, num_train_epochs } = read({ max_steps: -1, num_train_epochs: 2 }).args
    assert.deepEqual([max_steps, num_train_epochs], [100, 2])
    assert.ok(!SentFinetuneArgs.safeParse({ max_steps: -2 }).success)
  })

  test('a schedule that is not available is replaced and told', () => {
    const { args, told } = read({ lr_scheduler_type: 'reduce_lr_on_plateau' })
    assert.equal(args.lr_scheduler_type, 'linear')
    assert.deepEqual(told, ['lr_scheduler_type reduce_lr_on_plateau is not available here, so linear is used.'])
    assert.ok(!SentFinetuneArgs.safeParse({ lr_scheduler_type: 'fast' }).success)
  })

  test('tells which names have no effect, and proposes the right one', () => {
    assert.deepEqual(
      read({ max_steps: 5, index_k: 2, temperature: 0, learning_rte: 1, seed: null, other: null }).told,
      [
        'finetune_args.index_k, finetune_args.temperature: no effect here.',
        'finetune_args["learning_rte"] is not known and has no effect. Did you mean learning_rate?',
      ],
    )
    for (const [name, meant] of [
      ['per_device_train_batch_size', 'batch_size'],
      ['epochs', 'num_train_epochs'],
      ['Learning_Rate', 'learning_rate'],
      ['max_step', 'max_steps'],
      ['lora_r', 'r_value'],
      ['peft_use_rslora', 'use_rslora'],
      ['use_gradient_checkpointing', 'gradient_checkpointing'],
    ] as const)
      assert.match(read({ [name]: 1 }).told.join(), new RegExp(`Did you mean ${meant}\\?$`))
    assert.match(read({ report_to: 'none' }).told.join(), /has no effect\.$/)
  })

  test('tells at most some names, each as a text that can be stored', () => {
    const names = Array.from({ length: 50 }, (_, at) => `\0\ud800${'x'.repeat(100)}${at}`)
    const { told } = read(Object.fromEntries(names.map((name) => [name, 1])))
    assert.equal(told.length, 21)
    for (const message of told) assert.ok(message.isWellFormed() && !message.includes('\0') && message.length < 200)
    assert.equal(told.at(-1), '30 more names in finetune_args are not known.')
  })

  test('peft_args set the adapter; settings without effect are reported', () => {
    const peft = (sent: object) => {
      const { args, notes } = SentPeftArgs.parse(sent)
      return [JSON.parse(JSON.stringify(args)), notes.map(({ message }) => message)]
    }
    const usual = { task_type: 'CAUSAL_LM', bias: 'none' }
    assert.deepEqual(peft({ ...usual, r_value: 8, lora_alpha: 16, lora_dropout: 0, target_modules: ['q_proj'] }), [
      { r_value: 8, lora_alpha: 16, lora_dropout: 0, target_modules: ['q_proj'] },
      [],
    ])
    assert.deepEqual(peft({ r: 4, use_rslora: true }), [{ r_value: 4, use_rslora: true }, []])
    assert.deepEqual(peft({ r_value: 'many', bias: 'all' }), [
      {},
      ['peft_args.bias: no effect here.', 'peft_args.r_value has no effect, because its value cannot be used.'],
    ])
  })
})
