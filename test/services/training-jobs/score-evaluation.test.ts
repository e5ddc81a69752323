// Scores of a job's own evaluation: chosen by its data, side by side, and computed once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FineTuningGrader } from '../../../src/domain/fine-tuning-grader.ts'
import type { EvaluationRow } from '../../../src/domain/training-job.ts'
import { compileGraders } from '../../../src/grading/compile-graders.ts'
import { defaultGraders } from '../../../src/grading/default-graders.ts'
import { createGrading, type Grading } from '../../../src/grading/grading-threads.ts'
import { createPythonGraders, noPythonGraders } from '../../../src/grading/python/python-graders.ts'
import { invalidInput, ServiceError } from '../../../src/domain/service-error.ts'
import { readEvaluation } from '../../../src/services/training-jobs/read-evaluation.ts'
import { createEvaluationScores } from '../../../src/services/training-jobs/score-evaluation.ts'

const rows: EvaluationRow[] = [
  { split: 'held_out', input: 'Where?', expected: 'In Rome', tuned: 'in rome', base: 'Oslo' },
  { split: 'held_out', input: 'Who?', expected: 'Ann', tuned: 'Bob', base: 'Bob' },
]

/** A text is like another with the same first letter, and like no other. */
const embed = (_accountId: string, texts: string[]) =>
  Promise.resolve(texts.map((text) => [Number(text[0] === 'A'), Number(text[0] !== 'A')]))
const python = createPythonGraders({ sandbox: noPythonGraders })
const chooseDefaults: Grading['defaultGraders'] = (_accountId, expected) => Promise.resolve(defaultGraders(expected))
const noRewards = {
  askOf: () => () => assert.fail('no model judges here'),
  artifacts: { keepEvaluationScores: () => Promise.resolve() },
}
const others = { ...noRewards, embed, models: { keepScores: () => Promise.resolve() } }
const fillChunk = () => assert.fail('no text is filled here')

function scoring() {
  let calls = 0
  const keptFigures: [string, object][] = []
  const score: Grading['score'] = (_accountId, { graders, graded }) => {
    calls++
    return Promise.resolve(compileGraders(graders).map((score) => graded.map((answer) => score?.(answer) ?? null)))
  }
  const scoresOf = createEvaluationScores({
    ...noRewards,
    grading: { score, python, defaultGraders: chooseDefaults, fillChunk },
    embed,
    models: {
      keepScores: (model, figures) => {
        keptFigures.push([model, figures])
        return Promise.resolve()
      },
    },
  })
  return { scoresOf, calls: () => calls, keptFigures }
}

test('scores how often each model finds the better answer of a pair likelier, beside the graders', async () => {
  const { scoresOf } = scoring()
  const [first = assert.fail(), second = assert.fail()] = rows
  const pairs = [
    { ...first, prefersChosen: { tuned: true, base: false } },
    { ...first, prefersChosen: { tuned: false, base: false } },
    second,
  ]
  const { tuned, summary } = await scoresOf(
    { accountId: 'a', modelName: 'm', artifactId: 'b' },
    { rows: pairs, graders: [{ type: 'equals' }] },
  )
  assert.deepEqual(Object.keys(summary), ['prefers_chosen', 'equals'])
  assert.deepEqual(tuned, [{ prefers_chosen: 1, equals: 0 }, { prefers_chosen: 0, equals: 0 }, { equals: 0 }])
  const { tuned: ours, base: theirs, better } = summary['prefers_chosen'] ?? assert.fail()
  assert.deepEqual([ours.mean, ours.rows, theirs.mean, better], [0.5, 2, 0, 1])
})

test('compares the tuned model with its base, by graders that fit the data', async () => {
  const { scoresOf, calls, keptFigures } = scoring()
  const model = { accountId: 'a', modelName: 'm', artifactId: 'b' }
  const { graders, tuned, base, summary } = await scoresOf(model, { rows, graders: null })
  assert.deepEqual(
    graders.map(({ type }) => type),
    ['exact_match', 'f1'],
  )
  assert.deepEqual(
    [tuned[0], base[0]],
    [
      { exact_match: 1, f1: 1 },
      { exact_match: 0, f1: 0 },
    ],
  )
  const { difference, ...exact } = summary['exact_match'] ?? assert.fail()
  assert.deepEqual([exact.tuned.mean, exact.base.mean, difference.mean], [0.5, 0, 0.5])
  assert.deepEqual([exact.better, exact.equal, exact.worse], [1, 1, 0])
  await scoresOf(model, { rows, graders: null })
  assert.equal(calls(), 2, 'a second look scores nothing again')
  assert.deepEqual(keptFigures, [['m', summary]])
})

test('uses the graders of the job, and scores again after a failure', async () => {
  const { scoresOf } = scoring()
  const { summary } = await scoresOf(
    { accountId: 'a', modelName: 'm', artifactId: 'b' },
    { rows, graders: [{ type: 'includes', name: 'says it', ignore_case: true }] },
  )
  assert.deepEqual(Object.keys(summary), ['says it'])
  let isAway = true
  const flaky = createEvaluationScores({
    ...others,
    grading: {
      python,
      defaultGraders: chooseDefaults,
      fillChunk,
      score: () =>
        isAway
          ? Promise.reject(new Error('away'))
          : Promise.resolve([
              [1, 1],
              [1, 1],
            ]),
    },
  })
  await assert.rejects(flaky({ accountId: 'a', modelName: 'm', artifactId: 'b' }, { rows, graders: null }), /away/)
  isAway = false
  assert.equal(
    (await flaky({ accountId: 'a', modelName: 'm', artifactId: 'b' }, { rows, graders: null })).summary['f1']?.tuned
      .mean,
    1,
  )
})

test('embeds the answers and the expected texts where a grader compares their meaning', async () => {
  const { scoresOf } = scoring()
  const graders = [{ type: 'f1' }, { type: 'embedding_similarity', name: 'alike' }] as const
  const model = { accountId: 'a', modelName: 'm', artifactId: 'b' }
  const answered = [
    { ...rows[0], expected: 'Ann', tuned: 'Anna', base: 'Bob' } as EvaluationRow,
    { ...rows[1], expected: 'Bob', tuned: 'Carl', base: ' ' } as EvaluationRow,
  ]
  const { tuned, base, summary } = await scoresOf(model, { rows: answered, graders: [...graders] })
  assert.deepEqual(tuned, [
    { f1: 0, alike: 1 },
    { f1: 0, alike: 1 },
  ])
  assert.deepEqual(
    base.map((scores) => scores['alike']),
    [0, 0],
  )
  assert.equal(summary['alike']?.better, 2)
})

const outOfMemory = Object.assign(new Error('heap'), { code: 'ERR_WORKER_OUT_OF_MEMORY' })

test('answers that need too much time or memory are shown without scores', async () => {
  const artifacts = { listEvaluation: () => Promise.resolve(rows), rewardTask: () => Promise.resolve(null) }
  const database = { artifacts }
  const model = { accountId: 'a', modelName: 'm', artifactId: 'b', graders: null }
  const read = (failure: Error) => readEvaluation({ database, evaluationScores: () => Promise.reject(failure) }, model)
  for (const failure of [invalidInput('graders', 'took too long'), outOfMemory])
    assert.deepEqual(await read(failure), { rows, scored: null })
  await assert.rejects(read(new Error('away')), /away/)
})

test('a failure that a repeat would meet again is not met again', async () => {
  const failures: [Error, number][] = [
    [invalidInput('graders', 'took too long'), 1],
    [outOfMemory, 1],
    [new ServiceError('unavailable', 'away'), 3],
  ]
  for (const [failure, expectedCalls] of failures) {
    let calls = 0
    const scoresOf = createEvaluationScores({
      ...others,
      grading: {
        python,
        defaultGraders: chooseDefaults,
        fillChunk,
        score: () => {
          calls++
          return Promise.reject(failure)
        },
      },
    })
    for (let look = 0; look < 3; look++)
      await assert.rejects(
        scoresOf({ accountId: 'a', modelName: 'm', artifactId: 'b' }, { rows, graders: null }),
        failure,
      )
    assert.equal(calls, expectedCalls, failure.message)
  }
})

test('the grader of a reinforcement job scores both answers to its prompts, once', async () => {
  const input = { input: '{{sample.output_text}}', reference: '{{item.answer}}' }
  const graders = {
    right: { ...{ type: 'string_check', name: 'right', operation: 'eq' }, ...input },
    judge: {
      type: 'score_model',
      name: 'judge',
      model: 'm',
      input: [{ role: 'user', content: '{{sample.output_text}}' }],
    },
  }
  const task = { grader: FineTuningGrader.parse({ type: 'multi', graders, calculate_output: '(right + judge) / 2' }) }
  const prompts = rows.map((row) => ({ ...row, expected: '', item: { answer: row.tuned } }))
  const kept: unknown[] = []
  let asked = 0
  const scoresOf = createEvaluationScores({
    ...others,
    askOf: () => (lines) => {
      asked += lines.length
      const body = { choices: [{ message: { content: '{"verdict": 0.5}' } }] }
      const values = lines.map((line) => {
        const { custom_id } = JSON.parse(line) as { custom_id: string }
        return `${JSON.stringify({ custom_id, response: { status_code: 200, body } })}\n`
      })
      return Promise.resolve({ values: values.join(''), errors: '' })
    },
    grading: createGrading(),
    artifacts: { keepEvaluationScores: (_id, scores) => Promise.resolve(void kept.push(...scores)) },
  })
  const model = { accountId: 'a', modelName: 'm', artifactId: 'b' }
  const { tuned, base, summary } = await scoresOf(model, { rows: prompts, graders: null, task })
  assert.deepEqual(tuned[0], { right: 1, judge: 0.5, reward: 0.75 })
  assert.deepEqual(base[0], { right: 0, judge: 0.5, reward: 0.25 })
  assert.deepEqual([summary['reward']?.tuned.mean, asked, kept.length], [0.75, 4, 2])
  const read = prompts.map((row, at) => ({ ...row, scores: kept[at] as NonNullable<EvaluationRow['scores']> }))
  const other = await scoresOf({ ...model, modelName: 'n' }, { rows: read, graders: null, task })
  assert.deepEqual([other.tuned, asked, kept.length], [tuned, 4, 2])
})

test('the grader of a reinforcement job reads the calls and the end of an answer, as while training', async () => {
  const called = { ...{ type: 'string_check', name: 'called', operation: 'like' }, reference: 'weather' }
  const ended = { ...{ type: 'string_check', name: 'ended', operation: 'eq' }, reference: 'length' }
  const said = { ...{ type: 'string_check', name: 'said', operation: 'eq' }, reference: 'Hm.' }
  const graders = {
    called: { ...called, input: '{{sample.output_tools}}' },
    ended: { ...ended, input: '{{sample.finish_reason}}' },
    said: { ...said, input: '{{sample.output_text}}' },
  }
  const task = { grader: FineTuningGrader.parse({ type: 'multi', graders, calculate_output: 'called + ended + said' }) }
  const tools = [{ id: 'call_0', type: 'function', function: { name: 'weather', arguments: '{}' } }]
  const samples = {
    tuned: { finish_reason: 'tool_calls', output_text: 'Hm.', output_tools: tools },
    base: { finish_reason: 'length' },
  }
  const row: EvaluationRow = { split: 'held_out', input: 'Rain?', expected: '', tuned: 'Hm.<tool_call>', base: 'Hm.' }
  const scoresOf = createEvaluationScores({ ...others, grading: createGrading() })
  const model = { accountId: 'a', modelName: 'm', artifactId: 'b' }
  const { tuned, base } = await scoresOf(model, { rows: [{ ...row, item: {}, samples }], graders: null, task })
  assert.deepEqual(tuned[0], { called: 1, ended: 0, said: 1, reward: 2 })
  assert.deepEqual(base[0], { called: 0, ended: 1, said: 1, reward: 2 })
})
