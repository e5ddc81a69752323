// Criteria of evals: what judges are asked, what passes, and what becomes of parts and answers that are missing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EvalCriterion, gradersOf } from '../../src/domain/eval-criteria.ts'
import { outcomeOf, summariseRun, type EvalItem } from '../../src/domain/eval-run.ts'
import { givenSample } from '../../src/grading/eval-samples.ts'
import { createGrading } from '../../src/grading/grading-threads.ts'
import { judgeItems } from '../../src/grading/judge-items.ts'
import type { Scoring } from '../../src/grading/score.ts'

type Body = { model: string; messages: { content: string }[]; response_format: { json_schema: { schema: object } } }
const grading = createGrading()

const answered = (id: string, body: object, status = 200) =>
  `${JSON.stringify({ custom_id: id, response: { status_code: status, body }, error: null })}\n`
const chat = (content: string) => ({ choices: [{ message: { content }, finish_reason: 'stop' }], model: 'm' })

/** Programs: they fail for Eve. */
const python = {
  ...grading.python,
  score: (_account: string, { samples }: { samples: readonly string[] }) => {
    asked.push(...samples)
    return Promise.resolve(samples.map((sample) => (sample.includes('Eve') ? { error: 'Traceback' } : { score: 0.5 })))
  },
}
const asked: string[] = []

/** Judges items from the position 128 on with the samples of a batch. */
function judge(criteria: unknown[], items: EvalItem[], contents: (string | null)[], verdict: unknown = null) {
  const asked: Body[] = []
  const ask: NonNullable<Scoring['ask']> = (lines) => {
    const values = lines.map((line) => {
      const { custom_id, body } = JSON.parse(line) as { custom_id: string; body: Body }
      asked.push(body)
      return answered(custom_id, chat(JSON.stringify({ verdict })))
    })
    return Promise.resolve({ values: values.toReversed().join(''), errors: '' })
  }
  const lines = contents.map((content, at) =>
    content === null
      ? answered(String(128 + at), { error: { message: 'It is too long.' } }, 400)
      : answered(String(128 + at), chat(content)),
  )
  const answers = { values: lines.toReversed().join(''), errors: '' }
  const parsed = criteria.map((each) => EvalCriterion.parse(each))
  const scoring = { accountId: 'account', grading: { ...grading, python }, ask, embed: () => assert.fail() }
  const chunk = { items: Buffer.from(JSON.stringify(items)), answers, start: 128 }
  const toJudge = { criteria: parsed, graders: gradersOf(parsed), ...chunk }
  const judged = judgeItems(scoring, toJudge, new AbortController().signal)
  return judged.then((results) => ({ results, asked, summary: summariseRun(parsed, results) }))
}

const same = {
  type: 'string_check',
  name: 'same',
  operation: 'eq',
  input: '{{sample.output_text}}',
  reference: '{{item.answer}}',
}
const alike = { ...same, type: 'text_similarity', name: 'alike', evaluation_metric: 'fuzzy_match', pass_threshold: 0.5 }
const { operation: _operation, ...similarity } = alike

test('an item passes when every criterion passes, and fails or errs otherwise', async () => {
  const items = ['Ann', 'Bob', 'Eve'].map((answer) => ({ item: { answer } }))
  const { results, summary } = await judge([same, similarity], items, ['Ann', 'Bo', null])
  assert.deepEqual(results.map(outcomeOf), ['pass', 'fail', 'error'])
  assert.deepEqual(
    results[1]?.results.map(({ score, passed }) => [score, passed]),
    [
      [0, false],
      [0.8, true],
    ],
  )
  assert.deepEqual([results[2]?.error, results[2]?.results], ['It is too long.', []])
  assert.deepEqual(summary.outcomes, { pass: 1, fail: 1, error: 1 })
  assert.deepEqual(summary.criteria, [
    { name: 'same', passed: 1, failed: 1 },
    { name: 'alike', passed: 2, failed: 0 },
  ])
})

test('judges answer in a schema of their range or their labels', async () => {
  const input = [{ role: 'user', content: 'Is {{sample.output_text}} {{item.answer}}?' }]
  const scores = { type: 'score_model', name: 'score', model: 'judge', input, range: [0, 10] }
  const { results, asked } = await judge([scores], [{ item: { answer: 'Ann' } }], ['Bob'], 5)
  assert.deepEqual(asked[0]?.messages, [{ role: 'user', content: 'Is Bob Ann?' }])
  assert.deepEqual(asked[0]?.response_format.json_schema.schema, {
    type: 'object',
    properties: { verdict: { type: 'number', minimum: 0, maximum: 10 } },
    required: ['verdict'],
    additionalProperties: false,
  })
  assert.deepEqual(results[0]?.results[0], { name: 'score', type: 'score_model', score: 5, passed: true })
  const labels = {
    type: 'label_model',
    name: 'label',
    model: 'judge',
    input,
    labels: ['yes', 'no'],
    passing_labels: ['yes'],
  }
  const labelled = await judge([labels], [{ item: { answer: 'Ann' } }], ['Bob'], 'no')
  assert.deepEqual(labelled.results[0]?.results[0], {
    ...{ name: 'label', type: 'label_model', score: 0, label: 'no', passed: false },
  })
})

test('a part that the sample lacks is an error of that item alone', async () => {
  const json = { ...same, input: '{{sample.output_json.name}}' }
  const items = [{ item: { answer: 'Ann' } }, { item: { answer: 'Ann' } }]
  const { results } = await judge([json], items, ['{"name": "Ann"}', 'Ann'])
  assert.deepEqual(results.map(outcomeOf), ['pass', 'error'])
  assert.match(results[1]?.results[0]?.error ?? '', /\{\{sample\.output_json\.name\}\}/)
})

test('an item brings its sample as a text or as a chat', () => {
  assert.deepEqual(givenSample({ item: {}, sample: { output_text: '[1]' } }).sample, {
    output_text: '[1]',
    output_json: [1],
  })
  assert.equal(givenSample({ item: {}, sample: chat('hi') }).sample?.output_text, 'hi')
})

test('long texts are filled a few items at a time, and too long ones are an error of their item', async () => {
  const items = Array.from({ length: 12 }, (_, at) => ({ item: { answer: `${at}${'x'.repeat(60_000)}` } }))
  const long = { ...same, input: '{{item.answer}}'.repeat(15), reference: '{{item.answer}}'.repeat(15) }
  const contents = items.map(() => 'a')
  const { results } = await judge([long, { ...same, name: 'other' }], items, contents)
  assert.deepEqual(
    results.map((item) => item.results.map(({ score }) => score)),
    items.map(() => [1, 0]),
  )
  const tooLong = await judge([{ ...long, input: '{{item.answer}}'.repeat(30) }, same], items.slice(0, 2), ['a', 'a'])
  assert.match(tooLong.results[0]?.results[0]?.error ?? '', /The item is too long for the texts that name its parts/)
})

test('a program gets the whole item and its sample, and an item on which it fails has its error', async () => {
  const program = { type: 'python', name: 'short', source: 'def grade(sample, item): return 0.5', pass_threshold: 0.6 }
  const items = ['Ann', 'Eve'].map((answer) => ({ item: { answer } }))
  const { results } = await judge([program], items, ['{"a": 1}', 'b'])
  assert.deepEqual(
    asked.map((each) => {
      const { sample, item } = JSON.parse(each) as { sample: { choices: unknown }; item: unknown }
      const { choices: _repeatsTheRest, ...said } = sample
      return { sample: said, item }
    }),
    [
      {
        sample: { output_text: '{"a": 1}', output_json: { a: 1 }, model: 'm', finish_reason: 'stop' },
        item: { answer: 'Ann' },
      },
      { sample: { output_text: 'b', model: 'm', finish_reason: 'stop' }, item: { answer: 'Eve' } },
    ],
  )
  assert.deepEqual(results.map(outcomeOf), ['fail', 'error'])
  assert.deepEqual(results[1]?.results, [
    { name: 'short', type: 'python', score: null, error: 'Traceback', passed: false },
  ])
})
