// Checks what a reinforcement job rewards its answers by, before the job is accepted.
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { textParts } from '../../domain/eval-run.ts'
import { rewardOf, type FineTuningGrader } from '../../domain/fine-tuning-grader.ts'
import { templatesOf } from '../../domain/item-grader.ts'
import { readSchemas } from '../../domain/answer-schema/read-schemas.ts'
import { referencesIn } from '../../domain/item-template.ts'
import { schemaOfFormat, type ResponseFormat } from '../../domain/response-format.ts'
import {
  itemNeedsOf,
  maxGrammarCharacters,
  type ItemNeed,
  type RewardTask,
  type SentTask,
} from '../../domain/reward-task.ts'
import type { TrainingMethod } from '../../domain/training-method.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { PlacedProgram } from '../../grading/python/python-graders.ts'
import { gradingRequest } from '../../grading/python/request.ts'
import type { Ctx } from '../context.ts'
import { pinJudges } from '../evaluations/create.ts'
import { checkPrograms } from '../graders/validate.ts'

const field = 'method.reinforcement'
/** Graders are tried on so many rows before the job is accepted. The job's own check reads all of them. */
const firstRows = 20

/**
 * @returns the task of the request, with the models that its judges mean now
 * @throws ServiceError invalid_input, model_not_found
 */
export async function resolveTask(
  ctx: Ctx,
  { grader, response_format: format }: Partial<SentTask>,
  { max_completion_tokens: maxTokens, rollouts }: TrainingMethod['hyperparameters'],
  { name: model, engine }: CatalogueEntry,
): Promise<RewardTask> {
  if (!grader) throw invalidInput(`${field}.grader`, 'A reinforcement job needs a grader.')
  const form = format ? await formOf(ctx, format, Number(maxTokens)) : null
  if (form && rollouts === 'server' && engine === 'vllm')
    throw invalidInput(
      `${field}.response_format`,
      `${model} is served by vLLM, which does not tell the log-probabilities of tokens under a form. Use rollouts "inline" with this response_format.`,
    )
  return { grader: await pinGrader(ctx, grader), ...form }
}

/** @throws ServiceError invalid_input with the path of what is refused */
async function formOf({ deps: { inference }, accountId }: Ctx, format: ResponseFormat, maxTokens: number) {
  const sent = schemaOfFormat(format, `${field}.response_format`)
  if (!sent) return null
  const caller = { accountId, signal: new AbortController().signal }
  const [schema] = await readSchemas([sent], (large) => inference.readSchemas(large, caller))
  const grammar = schema && (await inference.sampledGrammar({ schema, maxTokens, ...caller }))
  if (!grammar)
    throw invalidInput(
      `${field}.hyperparameters.max_completion_tokens`,
      `max_completion_tokens is ${maxTokens}, which leaves no room for an answer of this response_format.`,
    )
  if (grammar.length > maxGrammarCharacters)
    throw invalidInput(sent.at, `${sent.at} is too large for the answers of a training: simplify it.`)
  return { response_format: format, grammar }
}

const knownParts = /^sample(\.(output_text|finish_reason)$|\.output_(json|tools)\b|$)/

/** What no answer has would score 0 for all of them. @throws ServiceError invalid_input */
function checkPartsOfSample(grader: FineTuningGrader) {
  for (const [name, each] of Object.entries(rewardOf(grader).graders))
    for (const part of templatesOf(each).flatMap(referencesIn))
      if (/^sample\b/.test(part) && !knownParts.test(part))
        throw invalidInput(
          grader.type === 'multi' ? `${field}.grader.graders.${name}` : `${field}.grader`,
          `The grader reads {{${part}}}. A sample has output_text, output_json, output_tools and finish_reason.`,
        )
}

async function pinGrader(ctx: Ctx, grader: FineTuningGrader): Promise<FineTuningGrader> {
  const isMulti = grader.type === 'multi'
  const names = isMulti ? Object.keys(grader.graders) : []
  const graders = isMulti ? Object.values(grader.graders) : [grader]
  const pathOf = (at: number) => (isMulti ? `${field}.grader.graders.${names[at]}` : `${field}.grader`)
  checkPartsOfSample(grader)
  await checkPrograms(ctx, graders, pathOf)
  const pinned = await pinJudges(ctx, graders, (at) => `${pathOf(at)}.model`)
  if (!isMulti) return pinned[0] ?? grader
  return { ...grader, graders: Object.fromEntries(names.map((name, at) => [name, pinned[at] as (typeof pinned)[0]])) }
}

/**
 * @throws ServiceError invalid_input for a part of an item that a grader reads and one of the first rows of a data set lacks, and
 * for a Python grader without a number for a row
 */
export async function checkFirstRows(
  ctx: Ctx,
  task: RewardTask,
  data: readonly { key: string; set?: string }[],
): Promise<void> {
  const needs = itemNeedsOf(task)
  const programs = programsOf(task)
  if (needs.length === 0 && programs.length === 0) return
  const names = new Set(needs.map((need) => need.name))
  for (const { key, set } of data) {
    const name = set === undefined ? 'the data' : `"${set}"`
    const rows = await readFirstRows(ctx, needs, key)
    const bad = rows.find(({ error }) => error && names.has(error.field))
    if (bad?.error)
      throw invalidInput(`${field}.grader`, `Line ${bad.line} of ${name}: ${bad.error.field}: ${bad.error.reason}.`)
    const good = rows.find(({ text }) => text !== null)
    if (good?.text && programs.length > 0) return tryPrograms(ctx, programs, { text: good.text, line: good.line, name })
  }
}

async function readFirstRows({ deps, accountId }: Ctx, needs: readonly ItemNeed[], key: string) {
  const wanted = { accountId, key, columns: null, method: 'reinforcement' as const, needs, offset: 0, limit: firstRows }
  return (await deps.datasets.lines(wanted, new AbortController().signal))?.rows ?? []
}

/** Lists the programs that can be tried. Nobody can make up an answer in another form. */
function programsOf({ grader, response_format: form }: RewardTask): PlacedProgram[] {
  if (form) return []
  const pathOf = (name: string) => (grader.type === 'multi' ? `${field}.grader.graders.${name}` : `${field}.grader`)
  return Object.entries(rewardOf(grader).graders).flatMap(([name, each]) =>
    each.type === 'python' ? [{ grader: each, path: pathOf(name) }] : [],
  )
}

/** Programs are not tried for longer than this, and the time limit of the answer that is under way. */
const trialMs = 5000

type TriedRow = { text: string; line: number; name: string }

/** A program may want one answer, and fail with another. */
async function tryPrograms(
  { deps, accountId }: Ctx,
  programs: readonly PlacedProgram[],
  { text, line, name }: TriedRow,
): Promise<void> {
  const { item, tools } = JSON.parse(text) as { item: Record<string, unknown>; tools?: unknown }
  if (tools) return
  const said = Object.values(item).find((value) => typeof value === 'string') ?? 'An answer.'
  const samples = [said, '{}'].map((each) => gradingRequest({ ...textParts(each), finish_reason: 'stop' }, item))
  const startMs = performance.now()
  const isLate = () => performance.now() - startMs > trialMs
  for (const { grader, path } of programs) {
    const errors: string[] = []
    for (const sample of samples) {
      if (isLate() && errors.length === 0) return
      const [score] = await deps.grading.python.score(
        accountId,
        { grader, samples: [sample] },
        new AbortController().signal,
      )
      if (!score || !('error' in score)) break
      errors.push(score.error.trim())
      // Another answer would take as long.
      if (isLate() || errors.length === samples.length)
        throw invalidInput(path, `The Python grader has no number for line ${line} of ${name}: ${errors[0]}`)
    }
  }
}
