// Graders that ask a model: what the model is asked, and what becomes of a refusal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Infer } from '../../activities/batch-answers.ts'
import { gradingModels } from '../../activities/grading-models.ts'
import type { Grader } from '../../src/domain/grader.ts'
import { invalidInput } from '../../src/domain/service-error.ts'
import { createPythonGraders, noPythonGraders } from '../../src/grading/python/python-graders.ts'
import { scoreAnswers } from '../../src/grading/score.ts'

const rows = ['a', 'b', 'c'].map((input) => ({ input, expected: `${input}!` }))
const answers = [
  { output: 'a!', error: null },
  { output: ' ', error: null },
  { output: null, error: 'too long' },
]
const python = createPythonGraders({ sandbox: noPythonGraders })
const asker = { id: 'evaluation', accountId: 'account', apiKeyId: 'key' }

function scoring(graders: Grader[], infer: Partial<Infer>, of = { rows, answers }) {
  const grading = { score: () => assert.fail('no grader is a function'), python }
  const models = gradingModels(infer as Infer, asker)
  return scoreAnswers({ accountId: 'account', grading, ...models }, { graders, ...of }, new AbortController().signal)
}

test('a judge gives a share of the highest score, and none to a row that was refused', async () => {
  const asked: unknown[] = []
  const judge = { type: 'model', model: 'm', prompt: '{input}|{expected}|{output}', max_score: 4 } as const
  const scored = await scoring([judge], {
    complete: async ({ prompts, outputType, temperature, accountId }) => {
      asked.push([prompts, outputType?.[0], temperature, accountId])
      return { outputs: prompts.map((_, index) => ({ score: index + 2 })), finishReasons: ['stop', 'stop'] }
    },
  })
  assert.deepEqual(asked, [
    [['a|a!|a!', 'b|b!| '], { name: 'score', type: { kind: 'enum', values: [0, 1, 2, 3, 4] } }, 0, 'account'],
  ])
  assert.deepEqual(
    scored.map(({ scores }) => scores['model']),
    [0.5, 0.75, null],
  )
  assert.deepEqual(scored[2], { output: null, error: 'too long', scores: { model: null } })
})

test('similar texts score near 1, empty texts 0, and refused texts nothing', async () => {
  const scored = (refuses: string | null) =>
    scoring([{ type: 'embedding_similarity' }], {
      embed: async ({ texts }) => {
        const at = refuses === null ? -1 : texts.indexOf(refuses)
        if (at >= 0) throw invalidInput(`prompt[${at}]`, `The text at position ${at} is too long.`)
        return texts.map(() => [1, 0])
      },
    })
  assert.deepEqual(
    (await scored(null)).map(({ scores }) => scores['embedding_similarity']),
    [1, 0, null],
  )
  assert.deepEqual(
    (await scored('a!')).map(({ scores }) => scores['embedding_similarity']),
    [null, 0, null],
  )
})

test('a judge is asked for long rows a few at a time, and not at all for a prompt that no model reads', async () => {
  const texts = ['a'.repeat(700_000), 'b', 'c'.repeat(1_500_000)]
  const long = texts.map((input) => ({ input, expected: '' }))
  const given = long.map(() => ({ output: 'x', error: null }))
  const asked: number[][] = []
  const complete: Infer['complete'] = ({ prompts }) => {
    asked.push(prompts.map((prompt) => (typeof prompt === 'string' ? prompt.length : 0)))
    return Promise.resolve({ outputs: prompts.map(() => ({ score: 4 })), finishReasons: prompts.map(() => 'stop') })
  }
  const judge = { type: 'model', model: 'm', prompt: '{input}{input}', max_score: 4 } as const
  const scored = await scoring([judge], { complete }, { rows: long, answers: given })
  assert.deepEqual(
    scored.map(({ scores }) => scores['model']),
    [1, 1, null],
  )
  assert.deepEqual(asked, [[1_400_000, 2]])
})
