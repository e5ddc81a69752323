import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAdapterConfig, checkAdapterHeader, headerBytesOf } from '../../src/domain/adapter-files.ts'

/** As PEFT 0.21 writes it. */
const config = {
  ...{ peft_type: 'LORA', task_type: 'CAUSAL_LM', r: 8, lora_alpha: 8, lora_dropout: 0.1, use_rslora: false },
  ...{ target_modules: ['q_proj', 'v_proj'], bias: 'none', init_lora_weights: true, inference_mode: true },
  ...{ base_model_name_or_path: 'anneal-tiny', peft_version: '0.21.2', megatron_core: 'megatron.core' },
  ...{ qalora_group_size: 16, use_dora: false, modules_to_save: null, rank_pattern: {}, megatron_config: null },
}
const layer = 'base_model.model.model.layers.0.self_attn.q_proj'
const header = {
  __metadata__: { format: 'pt' },
  [`${layer}.lora_A.weight`]: { dtype: 'F32', shape: [8, 192], data_offsets: [0, 1] },
  [`${layer}.lora_B.weight`]: { dtype: 'F32', shape: [192, 8], data_offsets: [1, 2] },
}

test('takes an adapter as PEFT writes it', () => {
  assert.equal(checkAdapterConfig(JSON.stringify(config), 64), 8)
  checkAdapterHeader(JSON.stringify(header), 8)
})

test('refuses every setting beyond plain LoRA, such as one that imports a module by its name', () => {
  for (const more of [
    { megatron_config: { a: 1 }, megatron_core: 'os' },
    { megatron_core: 'os' },
    { use_dora: true },
    { modules_to_save: ['lm_head'] },
    { auto_mapping: { parent_library: 'os' } },
    { peft_type: 'IA3' },
    { init_lora_weights: 'pissa' },
    { r: 65 },
    { r: '8' },
    { something_new: 1 },
  ])
    assert.throws(() => checkAdapterConfig(JSON.stringify({ ...config, ...more }), 64), /adapter_config\.json/)
  for (const text of ['', '[]', 'null', '{']) assert.throws(() => checkAdapterConfig(text, 64), /adapter_config\.json/)
})

test('refuses tensors that are no LoRA factors of the rank', () => {
  const wrong = {
    'an embedding': { 'base_model.model.lm_head.weight': { dtype: 'F32', shape: [8, 8] } },
    'a factor alone': { [`${layer}.lora_A.weight`]: header[`${layer}.lora_A.weight`] },
    'another rank': { ...header, [`${layer}.lora_B.weight`]: { dtype: 'F32', shape: [192, 9] } },
    'whole numbers': { ...header, [`${layer}.lora_B.weight`]: { dtype: 'I64', shape: [192, 8] } },
    nothing: { __metadata__: {} },
  }
  for (const [what, tensors] of Object.entries(wrong))
    assert.throws(() => checkAdapterHeader(JSON.stringify(tensors), 8), /adapter_model\.safetensors/, what)
})

test('refuses a header that is longer than its file or than any header', () => {
  const start = (length: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(length)
    return bytes
  }
  assert.equal(headerBytesOf(start(100n), 1000), 100)
  for (const [length, sizeBytes] of [
    [993n, 1000],
    [2n ** 63n, 2 ** 40],
    [17n * 2n ** 20n, 2 ** 40],
    [0n, 1000],
  ] as const)
    assert.throws(() => headerBytesOf(start(length), sizeBytes), /no safetensors file/)
  assert.throws(() => headerBytesOf(Buffer.from('PK'), 1000), /no safetensors file/)
})
