// The memory that a dry run foretells for a training: reads a training as JSON, and prints the estimate as JSON.
import { text } from 'node:stream/consumers'
import { trainingMemory } from '../../src/domain/training-memory.ts'

const { config, ...run } = JSON.parse(await text(process.stdin))
const headSize = config.head_dim ?? config.hidden_size / config.num_attention_heads
const shape = {
  hiddenSize: config.hidden_size,
  layers: config.num_hidden_layers,
  intermediateSize: config.intermediate_size,
  queryWidth: config.num_attention_heads * headSize,
  keyWidth: (config.num_key_value_heads ?? config.num_attention_heads) * headSize,
  vocabularySize: config.vocab_size,
  sharesEmbeddings: config.tie_word_embeddings === true,
}
console.log(JSON.stringify(trainingMemory({ ...run, shape, sampling: null })))
