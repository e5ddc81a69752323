// Scores of a model's versions: kept ones, those that are computed now, and those that take too long for one request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EvaluationRow, ModelVersion } from '../../../src/domain/training-job.ts'
import { ServiceError } from '../../../src/domain/service-error.ts'
import { withScores } from '../../../src/services/models/version-scores.ts'

const row: EvaluationRow = { split: 'held_out', input: 'Where?', expected: 'In Rome', tuned: 'In Rome', base: 'Oslo' }
const version = (modelName: string, evaluatedRows: number, scores: ModelVersion['scores'] = null) =>
  ({ modelName, artifactId: modelName, evaluatedRows, graders: null, scores }) as ModelVersion

/** @param slow the model whose scores never come, @param refused the one whose scoring is refused */
function scoring(slow?: string, refused?: string) {
  const read: string[] = []
  const scored = { graders: [], tuned: [], base: [], summary: { f1: null } }
  const deps = {
    database: {
      artifacts: {
        rewardTask: () => Promise.resolve(null), listEvaluation: (id: string) => {
          read.push(id)
          return Promise.resolve([row])
        },
      },
    },
    evaluationScores: ({ modelName }: { modelName: string }) => {
      if (modelName === refused) return Promise.reject(new ServiceError('unavailable', 'The embedder is starting.'))
      return modelName === slow ? new Promise<never>(() => undefined) : Promise.resolve(scored)
    },
  }
  return { ctx: { deps, accountId: 'a' }, read }
}

test('a version that was scored before needs no rows; a version without an evaluation has no scores', async () => {
  const { ctx, read } = scoring()
  const versions = await withScores(ctx, [version('new', 2), version('old', 9, { words: null }), version('none', 0)])
  assert.deepEqual(
    versions.map(({ scores }) => scores),
    [{ f1: null }, { words: null }, null],
  )
  assert.deepEqual(read, ['new'])
})

test('the list does not wait for scores that take long', async () => {
  const { ctx, read } = scoring('slow')
  const all = [version('quick', 1), version('slow', 1), version('next', 1), version('old', 1, { words: null })]
  const versions = await withScores(ctx, all, { atMostMs: 1 })
  assert.deepEqual(
    versions.map(({ scores }) => scores),
    [{ f1: null }, null, null, { words: null }],
  )
  assert.deepEqual(read, ['quick', 'slow'], 'a request begins no more than it waits for')
})

test('the list is answered while the embedding model of a grader is away', async () => {
  const versions = await withScores(scoring('none', 'two').ctx, [version('one', 1), version('two', 1)])
  assert.deepEqual(
    versions.map(({ scores }) => scores),
    [{ f1: null }, null],
  )
})
