import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluationRequestOf, formOfEvaluation } from '../../console/src/domain/evaluation-form.ts'

test('a duplicate asks for what the evaluation was asked for, with the parameters of its graders', () => {
  const judge = { type: 'model', name: 'judge', model: 'tiny', max_score: 5 }
  const evaluation = {
    model_names: ['a', 'b'],
    dataset_id: 'd',
    graders: [{ type: 'f1', name: 'f1' }, judge],
    max_rows: 7,
    max_tokens: 9,
    as_chat: true,
    system: '',
    skipped_rows: 0,
  }
  assert.deepEqual(evaluationRequestOf(formOfEvaluation(evaluation as never)), {
    models: ['a', 'b'],
    dataset_id: 'd',
    graders: [{ type: 'f1' }, judge],
    max_rows: 7,
    max_tokens: 9,
    as_chat: true,
    system: '',
    skip_bad_rows: true,
  })
})
