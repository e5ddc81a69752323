import { quickAttacks } from '../../../grading/python/hostile-graders.ts'
import type { Attack } from '../attack.ts'
import { completion } from '../probes.ts'
import { keepAsking } from './connections.ts'

const graders = 8
const endless = 'def grade(sample, item):\n    while True: pass'
const sources = [endless, ...Object.values(quickAttacks).map(({ source }) => source)]

/** What the hostile graders attack in. */
const item = { n: 3 }

export const pythonGraders: Attack = {
  name: 'python-graders',
  what: 'eight connections run graders that never end, fork, take memory or write without end',
  settings: { ANNEAL_PYTHON_GRADERS: 'sandbox' },
  seconds: 60,
  // Enough for a p99 that one slow answer does not make.
  probes: (stage) => [{ ...completion(stage), count: 1000 }],
  async run({ signal, ask, underway }) {
    underway()
    await keepAsking(graders, signal, (connection, turn) => {
      const source = sources[(connection + turn) % sources.length]
      return ask('POST', '/openai/v1/fine_tuning/alpha/graders/run', {
        grader: { type: 'python', name: `hostile-${connection}`, source },
        model_sample: 'text',
        item,
      })
    })
  },
}
