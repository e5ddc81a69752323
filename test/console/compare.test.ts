import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differingFacts } from '../../console/src/domain/compare.ts'

const job = (id: string, name: string) => ({
  base_model: 'tiny',
  finetune_args: { max_steps: 1 },
  dataset: { id, display_name: name },
})

test('a comparison names data sets by their files, and two files of one name also by their ids', () => {
  assert.deepEqual(differingFacts([job('a', 'faq.csv'), job('a', 'faq.csv')]), [])
  assert.deepEqual(differingFacts([job('a', 'faq.csv'), job('b', 'new.csv')]), [['data set', ['faq.csv', 'new.csv']]])
  const ids = ['a', 'b'].map((each) => each.repeat(32))
  assert.deepEqual(differingFacts(ids.map((id) => job(id, 'faq.csv'))), [
    ['data set', ['faq.csv (aaaaaaaaaa…)', 'faq.csv (bbbbbbbbbb…)']],
  ])
})
