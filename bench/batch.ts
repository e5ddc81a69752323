// 10,000 typed prompts in one POST, compared with the engine alone, together with single prompts of other clients, and
// with a kill of the model server in the middle.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processId } from '../src/embedded/connection.ts'
import { modelServerRunName } from '../src/domain/identifiers.ts'
import { parseOutputType } from '../src/domain/output-type.ts'
import { allowedCharacters, comfortableBound, maxPromptTokens } from '../src/inference/text-bounds.ts'
import { createAnswerParser, typedOutputRegex } from '../src/inference/typed-output.ts'
import { watchProcess } from './api-process.ts'
import { startPython } from './python-program.ts'
import { createClient, makeHome, median, quantile, startStack } from './stack.ts'

const count = Number(process.env['ANNEAL_BENCH_PROMPTS'] ?? 10_000)
const output_type = { colour: ['red', 'white', 'blue'], price: 'int', says: 'str' }
const max_tokens = 8
const prompts = Array.from({ length: count }, (_, index) => `Question: What is product ${index}?\nAnswer: `)
const singleEveryMs = 250
const rounds = 3

type Answer = { colour: string; price: number; says: string }

const home = makeHome()
const stack = await startStack(home)
const { connection } = stack
const call = createClient(connection)
const model_name = connection.baseModel
const ask = (prompt: string | string[]) =>
  call<Answer[]>('POST', '/v1/completions', { model_name, prompt, output_type, max_tokens })
await ask('warm')

const api = watchProcess(processId(connection, 'api'))

/** Measures one call from outside. */
async function measure(some: string[]) {
  const { result: answers, cpuSeconds, ...rest } = await api.during(() => ask(some))
  return { answers, microseconds: (cpuSeconds / some.length) * 1e6, ...rest }
}

type Measured = Awaited<ReturnType<typeof measure>>
type EngineRun = { seconds: number; texts: string[] }

async function single(): Promise<number> {
  const startedAt = performance.now()
  await call('POST', '/v1/completions', { model_name, prompt: 'Is it warm?', max_tokens: 1 })
  return performance.now() - startedAt
}

async function singlesUntil(over: AbortSignal): Promise<number[]> {
  const times: number[] = []
  for (; !over.aborted; await sleep(singleEveryMs)) times.push(await single())
  return times
}

const fields = parseOutputType(output_type) ?? []
const contextLength = 1024
const longest = Math.max(...prompts.map(maxPromptTokens))
const bound = comfortableBound(fields, allowedCharacters(fields, max_tokens), { contextLength, promptTokens: longest })
if (!bound) throw new Error('the answer has no room')
const work = { regex: typedOutputRegex(fields, bound), max_tokens: bound.maxTokens }
const engine = startPython('bench/engine_batch.py')
const askEngine = (some: string[]) => engine.ask<EngineRun>({ ...work, prompts: some })
await askEngine(prompts.slice(0, 64))

const parse = createAnswerParser(fields)
const isTyped = (answer: Answer) => parse(JSON.stringify(answer)) !== null
const sameAs = (answers: Answer[], others: Answer[]) =>
  answers.filter((answer, index) => JSON.stringify(answer) === JSON.stringify(others[index])).length
const say = (name: string, text: string) => console.log(`${name.padEnd(34)} ${text}`)
const secondsOf = (runs: { seconds: number }[]) => median(runs.map(({ seconds }) => seconds)).toFixed(1)
/** The median of the rounds' ratios, and all of them. */
function ratio(ours: { seconds: number }[], theirs: { seconds: number }[]): string {
  const ratios = ours.map(({ seconds }, round) => seconds / (theirs[round]?.seconds ?? Number.NaN))
  return `${median(ratios).toFixed(2)} (${ratios.map((each) => each.toFixed(2)).join(', ')})`
}
const typed = (answers: Answer[]) => `${answers.length} answers, ${answers.filter(isTyped).length} of the type`

const quiet: number[] = []
for (let n = 0; n < 100; n++) quiet.push(await single())

const [tenths, wholes, engineRuns]: [Measured[], Measured[], EngineRun[]] = [[], [], []]
for (let round = 0; round < rounds; round++) {
  tenths.push(await measure(prompts.slice(0, count / 10)))
  wholes.push(await measure(prompts))
  engineRuns.push(await askEngine(prompts))
}
engine.end()
const [tenth, first] = [tenths[0] as Measured, wholes[0] as Measured]
say('one call', `${typed(first.answers)}, ${secondsOf(wholes)} s`)
say('', `${sameAs(tenth.answers, first.answers)} of the ${tenth.answers.length} of a smaller call are the same in it`)
say('T(n) / T(n / 10)', `${ratio(wholes, tenths)} (allowed 10.2)`)
const bodyMegabytes = Buffer.byteLength(JSON.stringify(prompts)) / 1024 / 1024
say(
  'api',
  `${median(wholes.map(({ microseconds }) => microseconds)).toFixed(0)} µs of processor time a prompt, ` +
    `${Math.max(...wholes.map(({ megabytes }) => megabytes)).toFixed(1)} MB above idle (body ${bodyMegabytes.toFixed(2)} MB)`,
)
say(
  'the engine in process',
  `${secondsOf(engineRuns)} s; through the API ${ratio(wholes, engineRuns)} of it (allowed 1.05)`,
)
const engineAnswers = engineRuns.flatMap(({ texts }) => texts).map((text) => JSON.parse(text) as Answer)
say(
  '',
  `${sameAs(
    engineAnswers,
    wholes.flatMap(({ answers }) => answers),
  )} of ${engineAnswers.length} answers are the same`,
)

const over = new AbortController()
const beside = singlesUntil(over.signal)
const shared = await measure(prompts)
over.abort()
const times = await beside
const spread = (values: number[]) => `p50 ${median(values).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms`
say('single prompts alone', `${spread(quiet)} of ${quiet.length}`)
say('single prompts during a call', `${spread(times)} of ${times.length}; the call ${shared.seconds.toFixed(1)} s`)

const killed = measure(prompts)
await sleep((first.seconds * 1000) / 2)
// The data directory is new, so this is the first launch.
const pid = Number(readFileSync(join(home, 'runs', modelServerRunName(model_name, 1), 'pid'), 'utf8'))
process.kill(-pid, 'SIGKILL')
const survived = await killed
say(
  'kill -9 of the server half way',
  `${typed(survived.answers)}, ${sameAs(survived.answers, first.answers)} as without, ${survived.seconds.toFixed(1)} s`,
)
await stack.stop()
