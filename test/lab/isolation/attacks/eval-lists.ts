import type { Answer } from '../accounts.ts'
import type { Attack, Stage } from '../attack.ts'
import { jobList, readiness } from '../probes.ts'
import { keepAsking } from './connections.ts'

const connections = 8
const runs = 60
/** Parts of a template with 20,000 characters each: as many as a run takes. */
const partCounts = [100, 6]

export const evalLists: Attack = {
  name: 'eval-lists',
  what: 'eight connections list 60 runs of an eval whose templates are as long as they may be',
  maxGrowthMb: { api: 400 },
  seconds: 40,
  prepare: async (stage) => ({ evals: [await storeRuns(stage)] }),
  probes: (stage) => [readiness(stage), jobList(stage)],
  async run({ prepared, signal, ask, underway }) {
    underway()
    await keepAsking(connections, signal, () => ask('GET', `/openai/v1/evals/${prepared['evals']?.[0]}/runs?limit=100`))
  },
}

/** The runs are cancelled at once, so that the worker has no part in this attack. */
async function storeRuns({ attacker, connection }: Stage): Promise<string> {
  const criterion = { type: 'string_check', name: 'same', operation: 'eq', input: '{{item.a}}', reference: 'a' }
  const config = { type: 'custom', item_schema: { type: 'object' } }
  const made = await attacker.ask('POST', '/openai/v1/evals', {
    data_source_config: config,
    testing_criteria: [criterion],
  })
  const path = `/openai/v1/evals/${idOf(made)}/runs`
  const runOf = (parts: number) => ({
    data_source: {
      type: 'completions',
      model: connection.baseModel,
      input_messages: {
        type: 'template',
        template: [{ role: 'user', content: Array(parts).fill('x'.repeat(20_000)) }],
      },
      source: { type: 'file_content', content: [{ item: { a: 'a' } }] },
    },
  })
  let stored = 0
  for (const parts of partCounts)
    for (; stored < runs; stored++) {
      const { status, body } = await attacker.ask('POST', path, runOf(parts))
      if (status !== 200) break
      await attacker.ask('POST', `${path}/${(body as { id: string }).id}/cancel`)
    }
  if (stored < runs) throw new Error(`Only ${stored} runs were accepted.`)
  return idOf(made)
}

const idOf = ({ body }: Answer) => (body as { id: string }).id
