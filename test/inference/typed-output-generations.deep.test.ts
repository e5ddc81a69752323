// Every typed answer is of the asked type: random types, prompts that ask for something else, models with random weights,
// temperatures. `npm run test:deep -- typed-output` makes 21,000 of them; alone, the file makes the first 420. ANNEAL_TYPED_SEED begins elsewhere.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { root, toolPath } from '../../tools/paths.mjs'
import { parseCatalogue, type CatalogueEntry } from '../../src/domain/catalogue.ts'
import { parseOutputType, type OutputField, type OutputType } from '../../src/domain/output-type.ts'
import { createInference } from '../../src/inference/inference.ts'
import { runConcurrently } from '../../src/inference/chunks.ts'
import { adversarialPrompts } from './support/adversarial-prompts.ts'
import { callRandomFunctions } from './support/answer-calls.ts'
import { answerRandomSchema } from './support/answer-schemas.ts'
import { askedPrompts } from './support/asked-prompts.ts'
import { startEngine, type EngineProcess } from './support/engine-process.ts'
import { createFakeServers } from './support/fake-servers.ts'
import { createRandom, type Random } from './support/random.ts'
import { randomFields, randomText } from './support/random-types.ts'

const wanted = Number(process.env['ANNEAL_TYPED_GENERATIONS'] ?? 420)
const firstSeed = Number(process.env['ANNEAL_TYPED_SEED'] ?? 1)
const promptsPerType = 21
const typesAtOnce = 6
const contextLength = 512

describe('typed answers of models with random weights', { timeout: 6 * 60 * 60 * 1000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-typed-'))
  const names = ['shipped', 'byte-level', 'byte-fallback']
  const entries = entriesOf(folder, names)
  const servers = createFakeServers()
  const engines: EngineProcess[] = []
  const inference = createInference(servers.dependencies())
  const { signal } = new AbortController()

  before(async () => {
    const text = join(folder, 'text.txt')
    writeFileSync(text, trainingText())
    const script = join(root, 'test/inference/support/random_models.py')
    const python = process.env['ANNEAL_PYTHON'] ?? toolPath('python')
    const env = { ...process.env, OMP_NUM_THREADS: '1' }
    execFileSync(python, [script, String(firstSeed), text, ...names.map((name) => join(folder, name))], { env })
    engines.push(...(await Promise.all(entries.map((entry) => startEngine(entry, servers)))))
  })
  after(async () => {
    await Promise.all(engines.map((engine) => engine.stop()))
    rmSync(folder, { recursive: true, force: true })
  })

  it('are all of the asked type', async (t) => {
    let generations = 0
    const seeds = Array.from({ length: Math.ceil(wanted / promptsPerType) }, (_, at) => firstSeed + at)
    const answer = async (seed: number) => {
      const random = createRandom(seed)
      const fields = randomFields(random)
      const outputType = parseOutputType(wireTypeOf(fields)) ?? assert.fail()
      const maxTokens = random.pick([1, 4, 16, 48])
      const sampling = {
        temperature: random.pick([0, 0.3, 1, 2]),
        topP: random.pick([1, 0.5]),
        seed,
        maxTokens,
      }
      const prompts = random.list(promptsPerType, () => adversarialPrompt(random))
      const baseModel = random.pick(entries)
      const asked = askedPrompts(baseModel, prompts, { outputType, sampling, signal })
      const { outputs } = await inference.complete(asked).catch((error: unknown) => {
        throw new Error(`seed ${seed}, ${baseModel.name}: ${JSON.stringify(outputType)}`, { cause: error })
      })
      assert.equal(outputs.length, prompts.length, `seed ${seed}`)
      for (const output of outputs) {
        const text = JSON.stringify(output)
        assert.ok(
          isOf(outputType, text),
          `seed ${seed}, ${baseModel.name}: ${text} is not ${JSON.stringify(outputType)}`,
        )
      }
      generations += outputs.length
    }
    await runConcurrently(seeds, signal, answer, typesAtOnce)
    assert.ok(generations >= wanted)
    t.diagnostic(`${generations} typed answers, ${seeds.length} types, ${names.length} models: all valid`)
  })

  it('are of the JSON schema that is asked for, or the schema is refused by the path of what is not supported', async (t) => {
    const seeds = Array.from({ length: Math.ceil(wanted / promptsPerType) }, (_, at) => firstSeed + at)
    const sum = { valid: 0, cut: 0, refused: 0 }
    await runConcurrently(
      seeds,
      signal,
      async (seed) => {
        const random = createRandom(seed)
        const prompts = random.list(promptsPerType, () => adversarialPrompt(random))
        const result = await answerRandomSchema({ inference, baseModel: random.pick(entries), seed, prompts, signal })
        sum.valid += result.valid
        sum.cut += result.cut
        sum.refused += Number(result.isRefused)
      },
      typesAtOnce,
    )
    t.diagnostic(
      `${sum.valid} valid answers, ${sum.cut} cut by max_tokens; ${sum.refused} of ${seeds.length} schemas refused`,
    )
    assert.ok(sum.refused < seeds.length / 4 && sum.cut < sum.valid / 10)
  })

  it('call functions with arguments of their schemas, in three formats of calls', async (t) => {
    const seeds = Array.from({ length: Math.ceil(wanted / promptsPerType) }, (_, at) => firstSeed + at)
    const sum = { calls: 0, texts: 0, cut: 0, refused: 0 }
    await runConcurrently(
      seeds,
      signal,
      async (seed) => {
        const random = createRandom(seed)
        const prompts = random.list(7, () => adversarialPrompt(random))
        const result = await callRandomFunctions({
          ...{ inference, seed, prompts, signal },
          baseModel: entries[seed % entries.length] ?? assert.fail(),
        })
        for (const name of ['calls', 'texts', 'cut', 'refused'] as const) sum[name] += result[name]
      },
      typesAtOnce,
    )
    assert.ok(sum.calls > seeds.length)
    t.diagnostic(
      `${sum.calls} valid calls, ${sum.texts} answers without a call, ${sum.cut} cut by max_tokens; ${sum.refused} functions refused`,
    )
  })
})

function entriesOf(folder: string, names: string[]): CatalogueEntry[] {
  const embedder = { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength }
  const models = names.map((name) => {
    return { name, task: 'completion', engine: 'transformers', source: { path: join(folder, name) }, contextLength }
  })
  return parseCatalogue({ models: [...models, embedder] }).entries.filter(({ task }) => task === 'completion')
}

/** What JSON answers and the prompts are made of. */
function trainingText(): string {
  const random = createRandom(0)
  const answers = random.list(2000, () => {
    const value = () =>
      random.pick([random.below(1e6), true, false, random.fraction(), 'Ann Smith', 'red "wine"', 'a\\b'])
    return JSON.stringify(
      Object.fromEntries(random.list(3, () => [random.pick(['name', 'age', 'is_ok', 'größe']), value()])),
    )
  })
  return [...answers, ...adversarialPrompts].join('\n')
}

function adversarialPrompt(random: Random): string {
  const parts = [random.pick(adversarialPrompts), randomText(random, 30), random.pick(adversarialPrompts)]
  return parts
    .slice(0, 1 + random.below(3))
    .join(random.pick(['', ' ', '\n']))
    .slice(0, 200)
    .toWellFormed()
}

const wireTypeOf = (fields: OutputField[]) =>
  Object.fromEntries(fields.map(({ name, type }) => [name, type.kind === 'enum' ? type.values : type.kind]))

/** As a client sees it; nothing of the product's own check. */
function isOf(fields: OutputType, text: string): boolean {
  const answer = JSON.parse(text) as Record<string, unknown>
  if (JSON.stringify(Object.keys(answer)) !== JSON.stringify(Object.keys(wireTypeOf([...fields])))) return false
  return fields.every(({ name, type }) => {
    const value = answer[name]
    switch (type.kind) {
      case 'str':
        return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
      case 'int':
        return Number.isSafeInteger(value)
      case 'float':
        return Number.isFinite(value)
      case 'bool':
        return typeof value === 'boolean'
      case 'enum':
        return type.values.some((each) => JSON.stringify(each) === JSON.stringify(value))
    }
  })
}
