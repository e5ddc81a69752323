// llama.cpp with one GGUF file: node llama.mjs PACKAGES FILE THREADS. Reads lines {"prompts", "max_tokens"}; writes lines
// {"tokens", "seconds"}. All prompts of a line are answered at once, greedily.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [packages = '', modelPath = '', threads = '1'] = process.argv.slice(2)
const program = createRequire(join(packages, 'package.json')).resolve('node-llama-cpp')
const { getLlama, LlamaCompletion } = await import(pathToFileURL(program).href)

const mostPrompts = 64
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: Number(threads), logLevel: 'error' })
const model = await llama.loadModel({ modelPath })
const contexts = new Map()

/** Each number of sequences has a context of its own: unused sequences would cost time. */
async function completionsFor(count) {
  if (!contexts.has(count)) {
    const options = { sequences: count, contextSize: 160, batchSize: Math.max(512, 32 * count) }
    contexts.set(count, await model.createContext({ ...options, threads: { ideal: Number(threads), min: 1 } }))
  }
  const context = contexts.get(count)
  return Array.from(
    { length: count },
    () => new LlamaCompletion({ contextSequence: context.getSequence(), autoDisposeSequence: true }),
  )
}

for await (const line of createInterface({ input: process.stdin })) {
  const { prompts, max_tokens: maxTokens } = JSON.parse(line)
  if (prompts.length > mostPrompts) throw new Error(`at most ${mostPrompts} prompts`)
  const completions = await completionsFor(prompts.length)
  let tokens = 0
  const onToken = (some) => (tokens += some.length)
  const startedAt = performance.now()
  await Promise.all(
    completions.map((completion, index) =>
      completion.generateCompletion(model.tokenize(prompts[index], true), { maxTokens, temperature: 0, onToken }),
    ),
  )
  console.log(JSON.stringify({ tokens, seconds: (performance.now() - startedAt) / 1000 }))
  for (const completion of completions) completion.dispose()
}
