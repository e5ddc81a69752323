import type { Answer } from '../accounts.ts'
import type { Attack, Attacker } from '../attack.ts'
import { completion, readiness, statusOf } from '../probes.ts'
import { countDone } from './accepted-work.ts'
import { keepAsking } from './connections.ts'

const connections = 4
/** The length of an item of a grader, and how often the grader names it. */
const sample = { characters: 700_000, names: 400 }
const row = { characters: 60_000, count: 12 }
/** How often a template names an item of 60 KB: 120 MB of text, and as much as a run takes. */
const nameCounts = [2000, 30]
const runs = 4

export const filledTexts: Attack = {
  name: 'filled-texts',
  what: 'templates name an item of 700 KB 400 times in one grader, and items of 60 KB as often as runs of an eval take',
  maxGrowthMb: { api: 400, worker: 600 },
  seconds: 60,
  probes: (stage) => [readiness(stage), completion(stage)],
  async run(attacker) {
    const { signal, ask, underway } = attacker
    const grader = check('{{item.text}}'.repeat(sample.names))
    const body = { grader, item: { text: 'x'.repeat(sample.characters) }, model_sample: 'a' }
    const paths: string[] = []
    for (const names of nameCounts) paths.push(...(await startRuns(attacker, names)))
    underway()
    await keepAsking(connections, signal, () => ask('POST', '/openai/v1/fine_tuning/alpha/graders/run', body))
    await countDone(attacker, paths, (run) => statusOf(run) === 'completed')
  },
}

/** Half of the runs ask a model, with conversations as long as the texts that are compared. @returns the paths of accepted runs */
async function startRuns({ ask, baseModel }: Attacker, names: number): Promise<string[]> {
  const text = '{{item}}'.repeat(names)
  const config = { type: 'custom', item_schema: { type: 'object' } }
  const made = await ask('POST', '/openai/v1/evals', { data_source_config: config, testing_criteria: [check(text)] })
  if (made.status !== 200) return []
  const content = Array.from({ length: row.count }, (_, at) => ({ item: { at, text: 'x'.repeat(row.characters) } }))
  const source = { type: 'file_content', content }
  const template = [{ role: 'user', content: text }]
  const asking = { type: 'completions', model: baseModel, input_messages: { type: 'template', template }, source }
  const paths: string[] = []
  for (let run = 0; run < runs; run++) {
    const body = { data_source: run % 2 === 0 ? { type: 'jsonl', source } : asking }
    const answer = await ask('POST', `/openai/v1/evals/${idOf(made)}/runs`, body)
    if (answer.status === 200) paths.push(`/openai/v1/evals/${idOf(made)}/runs/${idOf(answer)}`)
  }
  return paths
}

const check = (input: string) => ({ type: 'string_check', name: 'filled', operation: 'eq', input, reference: 'a' })

const idOf = ({ body }: Answer) => (body as { id: string }).id
