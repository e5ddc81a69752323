import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parse } from 'yaml'
import { modelCardText, type CardFacts } from '../../src/domain/model-card.ts'
import type { ExportFormat } from '../../src/domain/model-export.ts'
import { documentedDefaults } from '../../src/domain/training-args.ts'

const score = (mean: number) => ({ mean, low: mean - 0.1, high: mean + 0.1, rows: 10 })
const compared = { difference: score(0.5), better: 6, equal: 4, worse: 0, tuned: score(0.9), base: score(0.4) }
const file = (rowCount: number, digit: string) => ({ key: 'k', sizeBytes: 9, sha256: digit.repeat(64), rowCount })

const facts: CardFacts = {
  name: 'products-bot@2',
  modelName: 'a'.repeat(64),
  jobId: 7,
  madeAt: new Date('2027-01-02T03:04:05Z'),
  base: { name: 'smollm2', source: { hub: 'HuggingFaceTB/SmolLM2', revision: 'v1' }, license: 'Apache-2.0' },
  parent: null,
  data: {
    name: 'products.jsonl',
    id: 'products',
    version: 3,
    rows: { train: file(40, 'b'), evaluation: { ...file(10, 'c'), split: 'held_out' } },
    hasOwnEvaluation: false,
  },
  learned: { form: 'pairs', systemMessage: null },
  args: { ...documentedDefaults, max_steps: 60 },
  method: null,
  givenArgs: ['max_steps'],
  evaluation: { rows: 10, scores: { exact_match: compared, f1: null } },
  release: '1.2.3',
}

const card = (changes: Partial<CardFacts> = {}, format: ExportFormat = 'adapter') => {
  const text = modelCardText({ ...facts, ...changes }, format)
  const [, front = '', ...rest] = text.split(/^---$/m)
  return { text, front: parse(front) as Record<string, unknown>, body: rest.join('---') }
}

suite('the card of a model', () => {
  test('tells Hugging Face the base, its licence, the library and the scores', () => {
    const { front } = card()
    const { 'model-index': index, ...rest } = front
    assert.deepEqual(rest, {
      base_model: 'HuggingFaceTB/SmolLM2',
      base_model_relation: 'adapter',
      library_name: 'peft',
      pipeline_tag: 'text-generation',
      license: 'apache-2.0',
      tags: ['lora', 'anneal'],
    })
    assert.deepEqual(index, [
      {
        name: 'products-bot@2',
        results: [
          {
            task: { type: 'text-generation' },
            dataset: { name: 'products.jsonl, held-out rows', type: 'products' },
            metrics: [{ type: 'exact_match', value: 0.9 }],
          },
        ],
      },
    ])
    assert.equal(card({}, 'merged').front['library_name'], 'transformers')
    const own = { ...facts.base, license: 'House rules 1' }
    assert.deepEqual(
      [card({ base: own }).front['license'], card({ base: own }).front['license_name']],
      ['other', 'House rules 1'],
    )
  })

  test('names the data with its hash, the arguments, the scores, the date and the release', () => {
    const { body } = card()
    for (const part of [
      '| Data set | products.jsonl |',
      '| Version | 3 |',
      '| Rows | 40 |',
      `\`${'b'.repeat(64)}\``,
      '"max_steps": 60',
      'The request gave `max_steps`',
      '| exact\\_match | 0.900 (0.800 to 1.000) | 0.400 (0.300 to 0.500) | 0.500 (0.400 to 0.600) | 10 |',
      '2027-01-02',
      'Anneal 1.2.3',
    ])
      assert.ok(body.includes(part), `${part} is missing in\n${body}`)
  })

  test('calls scores on rows of the training by that name, and does not publish them as results', () => {
    const rows = { train: file(40, 'b'), evaluation: { ...file(10, 'c'), split: 'train' as const } }
    const { front, body } = card({ data: { ...facts.data, rows } })
    assert.equal(front['model-index'], undefined)
    assert.match(body, /also trained on/)
    assert.match(card({ evaluation: null }).body, /was not evaluated/)
    assert.match(card({ evaluation: { rows: 10, scores: null } }).body, /No scores/)
  })

  test('loads an adapter on its base at the revision, and a merged model without a base', () => {
    const adapter = card().body
    assert.ok(adapter.includes('base = "HuggingFaceTB/SmolLM2"'))
    assert.ok(adapter.includes('AutoModelForCausalLM.from_pretrained(base, revision="v1"), folder)'))
    const merged = card({}, 'merged').body
    assert.ok(merged.includes('AutoModelForCausalLM.from_pretrained(folder)'))
    assert.ok(!merged.includes('peft'))
  })

  test('says that a base is no part of the export, without a path of the machine', () => {
    const { text } = card({ base: { name: 'house', source: { path: '/srv/secret/house' } } })
    assert.match(text, /set `base` to a folder with house/)
    assert.ok(!text.includes('/srv'))
  })

  test('asks a model that learned conversations as a chat, with its system message', () => {
    const { body } = card({ learned: { form: 'conversations', systemMessage: 'Say "hi".\n```\n# no heading' } })
    assert.ok(body.includes('{"role": "system", "content": "Say \\"hi\\".\\n```\\n# no heading"},'))
  })

  test('names the graders, and nothing else of them', () => {
    const secret = { type: 'python', source: 'def grade(sample, item): return 1  # secret' } as const
    const both = { a: { ...secret, name: 'a' }, b: { ...secret, name: 'b' } }
    const grader = { type: 'multi' as const, name: 'both', calculate_output: 'a + b', graders: both }
    const method = { type: 'reinforcement' as const, hyperparameters: {}, given: [], task: { grader } }
    const { body } = card({ method })
    assert.match(body, /Its answers were rewarded by the graders a \(python\), b \(python\)\./)
    assert.doesNotMatch(body, /secret/)
  })

  test('names the method of the training with its hyperparameters', () => {
    const { body } = card({ method: { type: 'dpo', hyperparameters: { beta: 0.2 }, given: ['beta'] } })
    assert.match(body, /Method: dpo on pairs/)
    assert.match(body, /"beta": 0\.2/)
  })

  test('shows names as what they are, whatever marks are in them', () => {
    const name = 'x": y\n---\n# <b>| [l](u) `c` \u0085\u2028\u007f'
    const grader = 'a|b\n'
    const { front, text, body } = card({
      name,
      data: { ...facts.data, name },
      evaluation: { rows: 1, scores: { [grader]: compared } },
    })
    const index = front['model-index'] as { name: string; results: { metrics: { type: string }[] }[] }[]
    assert.equal(index[0]?.name, name)
    assert.equal(index[0]?.results[0]?.metrics[0]?.type, grader)
    assert.ok(body.includes('# x": y --- \\# \\<b\\>\\| \\[l\\](u) \\`c\\`'))
    assert.ok(body.includes('| a\\|b  |') || body.includes('| a\\|b |'))
    assert.equal(text.match(/^---$/gm)?.length, 2)
  })
})
