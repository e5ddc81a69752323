// 1,000 texts through the API, compared with sentence-transformers: time, and difference of the vectors.
import { packagesBeside } from '../tools/setup/client-env.mjs'
import { startPython } from './python-program.ts'
import { createClient, median, startStack } from './stack.ts'

const count = 1000
const rounds = 5
const words = 'the a price of red blue chair table is was seven 🎉 naïve ÜBER long-haul 3.14 and then'.split(' ')
/** Texts of 0 to 300 words: some are longer than the model's context, and both sides cut them there. */
const texts = Array.from({ length: count }, (_, index) => {
  const length = index % 50 === 0 ? 300 : (index * 7) % 60
  return Array.from({ length }, (_word, at) => words[(index * 31 + at * at) % words.length]).join(' ')
})

type Encoded = { seconds: number; vectors: number[][] }

const packages = await packagesBeside('bench/sentence-transformers.txt')
const stack = await startStack()
const call = createClient(stack.connection)
const reference = startPython('bench/embeddings.py', {
  ...process.env,
  PYTHONPATH: packages,
  OMP_NUM_THREADS: '1',
  TOKENIZERS_PARALLELISM: 'false',
})
const byReference = (some: string[]) => reference.ask<Encoded>(some)

async function throughApi(prompt: string[]): Promise<Encoded> {
  const startedAt = performance.now()
  const { embedding } = await call<{ embedding: number[][] }>('POST', '/v1/inference/embedding', {
    prompt,
    truncate: true,
  })
  return { seconds: (performance.now() - startedAt) / 1000, vectors: embedding }
}

await throughApi(['warm'])
await byReference(['warm'])
const [ours, theirs]: [Encoded[], Encoded[]] = [[], []]
for (let round = 0; round < rounds; round++) {
  ours.push(await throughApi(texts))
  theirs.push(await byReference(texts))
}
const furthest = Math.max(
  ...texts.map((_, row) =>
    Math.max(...(ours[0]?.vectors[row] ?? []).map((x, at) => Math.abs(x - (theirs[0]?.vectors[row]?.[at] ?? 9)))),
  ),
)
const seconds = (encoded: Encoded[]) => median(encoded.map((each) => each.seconds))
console.log(`${count} texts through the API   median ${seconds(ours).toFixed(2)} s of ${rounds}`)
console.log(`sentence-transformers         median ${seconds(theirs).toFixed(2)} s`)
console.log(`throughput of its             ${(seconds(theirs) / seconds(ours)).toFixed(2)} (at least 1.0)`)
console.log(`furthest numbers apart        ${furthest.toExponential(1)} (allowed 1e-5)`)
reference.end()
await stack.stop()
