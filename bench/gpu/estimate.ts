// The memory that a dry run foretells for trainings. Reads lines of JSON as compare_methods.py writes them, and prints each with
// the estimate beside what was in use.
import { text } from 'node:stream/consumers'
import { trainingMemory } from '../../src/domain/training-memory.ts'

for (const line of (await text(process.stdin)).split('\n').filter(Boolean)) {
  const { what, in_use: inUse, asked } = JSON.parse(line)
  if (asked === null) continue
  const { config, ...run } = asked
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
  const { estimated, parts } = trainingMemory({ ...run, shape, sampling: null })
  console.log(JSON.stringify({ what, inUse, estimated, share: inUse ? estimated / inUse : null, parts }))
}
