// Graders as requests name them: what they score, what they refuse, and that no pattern or schema holds the process.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graders, gradersOf, type Grader } from '../../src/domain/grader.ts'
import { bootstrapMean } from '../../src/grading/bootstrap.ts'
import { compileGraders, requireDistinctNames } from '../../src/grading/compile-graders.ts'
import { defaultGraders } from '../../src/grading/default-graders.ts'
import { compare, summarise } from '../../src/grading/summarise.ts'

function scoreOf(grader: Grader, output: string, expected = ''): number | null {
  const [score] = compileGraders([grader])
  assert(score)
  return score({ input: '', expected, output })
}

test('scores numbers within a tolerance, by the last number of each text', () => {
  const numeric = (output: string, expected: string, more: object = {}) =>
    scoreOf({ type: 'numeric', ...more }, output, expected)
  assert.equal(numeric('2 and 3 make 5.', '5'), 1)
  assert.equal(numeric('$1,234.50', '1234.5'), 1)
  assert.equal(numeric('-1e3', '-1000'), 1)
  assert.equal(numeric('none', '5'), 0)
  assert.equal(numeric('5', 'five'), null)
  assert.deepEqual([numeric('5.1', '5', { tolerance: 0.2 }), numeric('5.3', '5', { tolerance: 0.2 })], [1, 0])
  assert.deepEqual([numeric('101', '100', { relative_tolerance: 0.01 }), numeric('102', '100')], [1, 0])
})

test('gives the figures of rapidfuzz 3, NLTK 3.9 and rouge-score 0.1.2', () => {
  const figures: [output: string, expected: string, ...scores: number[]][] = [
    [
      'It is a guide to action which ensures that the military always obeys the commands of the party',
      'It is a guide to action that ensures that the military will forever heed Party commands',
      ...[0.751381215, 0.439393939, 0.705882353, 0.5, 0.4],
    ],
    ['the cat sat', 'the cat sat on the mat', 0.666666667, 0.333333333, 0.666666667, 0.571428571, 0.4],
    ['Köln liegt am Rhein', 'Koeln liegt an der Elbe', 0.619047619, 0.071428571, 0.2, 0, 0],
    ['the the the', 'the the', 0.777777778, 0.5, 0.8, 0.666666667, 0],
  ]
  const ngrams = [1, 2, 3].map((n) => ({ type: 'rouge_n' as const, n }))
  for (const [output, expected, ...theirs] of figures) {
    const graders: Grader[] = [{ type: 'fuzzy_match' }, { type: 'gleu' }, ...ngrams]
    const ours = graders.map((grader) => scoreOf(grader, output, expected) ?? assert.fail())
    ours.forEach((score, at) => assert(Math.abs(score - (theirs[at] ?? NaN)) < 1e-8, `${at} of ${output}: ${score}`))
  }
})

test('compares texts character by character, or requires a different text', () => {
  assert.deepEqual([scoreOf({ type: 'equals' }, 'a', 'a'), scoreOf({ type: 'equals' }, 'a', 'A')], [1, 0])
  assert.equal(scoreOf({ type: 'equals', negate: true }, 'a', 'A'), 1)
})

test('finds a text or a pattern in the answer', () => {
  assert.equal(scoreOf({ type: 'includes' }, 'It is Rome.', ' Rome\n'), 1)
  assert.equal(scoreOf({ type: 'includes' }, 'It is rome.', 'Rome'), 0)
  assert.equal(scoreOf({ type: 'includes', ignore_case: true }, 'It is rome.', 'Rome'), 1)
  assert.equal(scoreOf({ type: 'regex', pattern: '^\\d{4}-\\d{2}$' }, '2026-11'), 1)
  assert.equal(scoreOf({ type: 'regex', pattern: 'yes', ignore_case: true }, 'no'), 0)
})

test('checks JSON by a schema, or by the shape of the expected value', () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string', pattern: '^[A-Z]' }, tag: { $ref: '#/$defs/tag' } },
    required: ['city'],
    $defs: { tag: { type: 'string', pattern: '^t' } },
  }
  const fits = (output: string) => scoreOf({ type: 'json_schema', schema }, output)
  assert.deepEqual([fits('{"city": "Rome"}'), fits('{"city": "rome"}'), fits('{}'), fits('Rome')], [1, 0, 0, 0])
  assert.deepEqual([fits('{"city": "Rome", "tag": "t"}'), fits('{"city": "Rome", "tag": "R"}')], [1, 0])
  assert.equal(fits('```json\n{"city": "Rome"}\n```'), 1)
  const like = (output: string, expected: string) => scoreOf({ type: 'json_schema' }, output, expected)
  assert.equal(like('{"a": 2, "b": ["x"]}', '{"b": ["y", "z"], "a": 1}'), 1)
  assert.deepEqual([like('{"a": "2"}', '{"a": 1}'), like('{"a": 1, "c": 1}', '{"a": 1}'), like('[1]', '{}')], [0, 0, 0])
  assert.equal(like('{}', 'no JSON'), null)
})

test('refuses a value that it cannot use, and names the grader', () => {
  const refusal = (grader: object) => {
    try {
      const graders = [{ type: 'f1' } as const, grader as Grader]
      requireDistinctNames(graders, 'graders')
      compileGraders(graders)
      return assert.fail(`${JSON.stringify(grader)} is accepted`)
    } catch (error) {
      return String(error)
    }
  }
  assert.match(refusal({ type: 'f1' }), /Two graders have the name "f1"/)
  assert.match(refusal({ type: 'regex', pattern: '(' }), /regex grader cannot be used/)
  assert.match(refusal({ type: 'regex', pattern: '(?:a{500}){9}' }), /repe|large/)
  const schema = (value: object) => refusal({ type: 'json_schema', schema: value })
  assert.match(schema({ type: 'nothing' }), /schema is invalid/)
  assert.match(schema({ $ref: 'https://example.com/schema' }), /may only refer to a part/)
  assert.match(
    schema({ properties: { child: { $ref: '#/$defs/node' } }, $defs: { node: { items: { $ref: '#/$defs/node' } } } }),
    /refers to itself/,
  )
  // Twenty levels, each of which refers to the next twice, are a million checks.
  const levels = Array.from({ length: 20 }, (_, level) => [
    `l${level}`,
    { allOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] },
  ])
  assert.match(schema({ $ref: '#/$defs/l0', $defs: { ...Object.fromEntries(levels), l20: {} } }), /too large/)
  assert.match(schema({ items: { uniqueItems: true } }), /may not use uniqueItems/)
  // Its answers would be promises, and a rejected one ends the process.
  assert.match(schema({ $async: true }), /may not use \$async/)
  for (const wrong of [['judge'], ['model'], [{ type: 'f1', tolerance: 1 }], [{ type: 'regex' }], []])
    assert.equal(Graders.safeParse(wrong).success, false, JSON.stringify(wrong))
  assert.deepEqual(gradersOf(Graders.parse(['f1', { type: 'numeric', tolerance: 1, name: null }])), [
    { type: 'f1' },
    { type: 'numeric', tolerance: 1 },
  ])
})

test('a pattern that backtracks for ever elsewhere ends here', () => {
  // RegExp would need more steps than there are atoms.
  const text = `${'a'.repeat(30_000)}b`
  assert.equal(scoreOf({ type: 'regex', pattern: '^(a+)+$' }, text), 0)
  assert.equal(scoreOf({ type: 'json_schema', schema: { pattern: '^(a|a)*$' } }, JSON.stringify(text)), 0)
})

test('chooses graders by the expected values of most rows', () => {
  const types = (expected: string[]) => defaultGraders(expected).map(({ type }) => type)
  assert.deepEqual(types(['{"a": 1}', '[2]', 'x']), ['json_schema', 'exact_match'])
  assert.deepEqual(types(['12', '$3.50', '7 kg']), ['numeric', 'exact_match'])
  assert.deepEqual(types(['Rome', 'In the north of Italy.']), ['exact_match', 'f1'])
  assert.deepEqual(types([`A text of ${'many '.repeat(20)}words.`]), ['rouge_l', 'chrf'])
})

test('gives a mean the same bootstrap interval each time', () => {
  const scores = Array.from({ length: 200 }, (_, row) => (row % 4 === 0 ? 1 : 0))
  const interval = bootstrapMean(scores)
  assert.deepEqual(interval, bootstrapMean(scores))
  assert(interval && interval.mean === 0.25)
  // The normal approximation: 0.25 ± 1.96 √(0.25 · 0.75 / 200).
  assert(Math.abs(interval.low - 0.19) < 0.015 && Math.abs(interval.high - 0.31) < 0.015, JSON.stringify(interval))
  assert.deepEqual(bootstrapMean([1, 1]), { mean: 1, low: 1, high: 1 })
  assert.equal(bootstrapMean([]), null)
})

test('compares row by row, where both models have a score', () => {
  const rows = (scores: (number | null)[]) => scores.map((score) => ({ f1: score }))
  const [ours, first] = [rows([1, 0.5, 0, null, 1]), rows([0, 0.5, 1, 1, null])]
  assert.equal(summarise('f1', ours)?.rows, 4)
  assert.equal(summarise('f1', ours)?.mean, 0.625)
  const { difference, ...counts } = compare('f1', ours, first) ?? assert.fail()
  assert.deepEqual(counts, { better: 1, equal: 1, worse: 1 })
  assert.equal(difference.mean, 0)
  assert.equal(summarise('bleu', ours), null)
})

test('compares the first 4,000 words by ROUGE-L', () => {
  const text = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join(' ')
  assert.equal(scoreOf({ type: 'rouge_l' }, text(4001), text(4000)), 1)
  assert.ok((scoreOf({ type: 'rouge_l' }, text(3999), text(4000)) ?? 1) < 1)
})
