import type { Attack } from '../attack.ts'
import { jobList, readiness } from '../probes.ts'
import { keepAsking } from './connections.ts'

const connections = 4
const graders = 10
/** Without case each class is compared with every letter there is. Six characters; a pattern has 1,000. */
const wideClass = '[b-\u{10fffe}]'

export const graderPatterns: Attack = {
  name: 'grader-patterns',
  what: 'four connections submit evaluations with ten graders "regex", each of 160 wide classes without case',
  seconds: 40,
  probes: (stage) => [readiness(stage), jobList(stage)],
  async run({ baseModel, signal, ask, underway }) {
    underway()
    await keepAsking(connections, signal, (connection, turn) =>
      ask('POST', '/v1/evaluations', {
        models: [baseModel],
        dataset_id: 'none',
        graders: Array.from({ length: graders }, (_, at) => ({
          type: 'regex',
          name: `pattern-${at}`,
          pattern: `${connection}${turn}${at}${wideClass.repeat(160)}`,
          ignore_case: true,
        })),
      }),
    )
  },
}
