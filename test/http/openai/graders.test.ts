// Graders over HTTP: what they give one sample, and what is refused by which name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPublic } from '../support.ts'

const edge = await startPublic()
const call = (path: string, json: object) => edge.call('POST', `/openai/v1/fine_tuning/alpha/graders/${path}`, { json })

const compared = { input: '{{sample.output_json.name}}', reference: '{{item.name}}' }
const same = { type: 'string_check', name: 'same', operation: 'eq', ...compared }
const alike = { type: 'text_similarity', name: 'alike', evaluation_metric: 'fuzzy_match', ...compared }
const multi = (formula: string) => ({ type: 'multi', graders: { same, alike }, calculate_output: formula })

type Run = {
  reward: number
  sub_rewards: Record<string, number>
  metadata: { name: string; errors: Record<string, unknown>; token_usage: number | null }
}
async function run(grader: object, sample: string, item: object | null = { name: 'Ann' }): Promise<Run> {
  const { status, json } = await call('run', { grader, model_sample: sample, item })
  assert.equal(status, 200, JSON.stringify(json))
  return json as unknown as Run
}
const errorsOf = ({ metadata }: Run) => Object.keys(metadata.errors).filter((name) => metadata.errors[name])

test('a formula combines the rewards of graders', async () => {
  const found = await run(multi('(same + alike) / 2'), '{"name": "Anne"}')
  assert.deepEqual(found.sub_rewards['same'], 0)
  assert.equal(found.reward, (found.sub_rewards['alike'] ?? 0) / 2)
  assert.ok(found.reward > 0.4)
  assert.deepEqual([errorsOf(found), found.metadata.name, found.metadata.token_usage], [[], 'multi', null])
  assert.equal((await run(same, '{"name": "Ann"}')).reward, 1)
})

test('a sample that a grader cannot score has the reward 0 and says why', async () => {
  const failed = async (grader: object, sample: string, item: object | null = { name: 'Ann' }) => {
    const found = await run(grader, sample, item)
    return [found.reward, ...errorsOf(found)]
  }
  assert.deepEqual(await failed(same, 'Ann'), [0, 'sample_parse_error'])
  assert.deepEqual(await failed(same, '{}'), [0, 'invalid_variable_error'])
  assert.deepEqual(await failed(same, '{"name": "Ann"}', null), [0, 'invalid_variable_error'])
  assert.deepEqual(await failed(multi('same / (alike - 1)'), '{"name": "Ann"}'), [0, 'formula_parse_error'])
})

test('a grader is refused by the part that is wrong', async () => {
  const refusal = async (grader: object) => {
    const { status, json } = await call('validate', { grader })
    const { error } = json as unknown as { error: { param: string; message: string } }
    return [status, error.param, error.message] as const
  }
  const [status, param, message] = await refusal({ type: 'java', source: 'x' })
  assert.deepEqual([status, param], [400, 'grader.type'])
  assert.match(message, /"java" is not supported: use string_check/)
  assert.ok((await refusal(multi('\ud800')))[2].isWellFormed())
  assert.match((await refusal({}))[2], /^grader\.type is required: string_check, /)
  for (const none of [5, []]) assert.match((await refusal(none as object))[2], /^grader must be an object\.$/)
  assert.match((await refusal(multi('same + b')))[2], /grader.calculate_output names "b"/)
  const large = /has no number from -1000000000 to 1000000000|no reward is larger/
  assert.match(
    (
      await refusal({
        type: 'score_model',
        name: 'm',
        model: 'm',
        input: [{ role: 'user', content: 'x' }],
        range: [0, 1e12],
      })
    )[2],
    large,
  )
  const { status: ofRun, json: told } = await call('run', {
    grader: multi('1e10 + same'),
    model_sample: '{"name": "Ann"}',
    item: { name: 'Ann' },
  })
  assert.deepEqual([ofRun, large.test(JSON.stringify(told))], [400, true])
  const nested = { ...multi('same'), graders: { same: multi('same') } }
  assert.equal((await refusal(nested))[1], 'grader.graders.same.type')
  assert.equal((await refusal({ ...multi('1'), graders: {} }))[1], 'grader.graders')
  const judge = { type: 'label_model', name: 'l', model: 'tiny', labels: ['a'], passing_labels: ['b'] }
  const input = [{ role: 'user', content: '{{sample.output_text}}' }]
  assert.equal((await refusal({ ...judge, input }))[1], 'grader.passing_labels')
  assert.match((await refusal({ ...judge, input, passing_labels: ['a'], model: 'mini' }))[2], /embedding model/)
  const echoed = await call('validate', { grader: { ...judge, input, passing_labels: ['a'] } })
  assert.equal(echoed.status, 200)
})

test('a grader whose texts are too long with the parts that they name is refused', async () => {
  const grader = { ...same, input: '{{item.text}}'.repeat(400) }
  const { status, json } = await call('run', { grader, model_sample: 'a', item: { text: 'x'.repeat(700_000) } })
  const { error } = json as unknown as { error: { param: string; message: string } }
  assert.deepEqual([status, error.param], [400, 'grader'])
  assert.match(error.message, /the texts have more than 2097152 characters together\. Name fewer or shorter parts\./)
})

const program = { type: 'python', source: 'def grade(sample, item): return 1' }

test('programs are refused at their place while the operator has not set them', async () => {
  for (const path of ['validate', 'run'])
    for (const [grader, param] of [
      [program, 'grader'],
      [{ ...multi('same + short'), graders: { same, short: program } }, 'grader.graders.short'],
    ] as const) {
      const { status, json } = await call(path, { grader, ...(path === 'run' && { model_sample: 'a' }) })
      const { error } = json as unknown as { error: object }
      const message = 'This installation runs no Python graders: the operator has not set ANNEAL_PYTHON_GRADERS.'
      assert.deepEqual([status, error], [400, { ...error, param, message }])
    }
})

test('a program is refused for its length and for packages that are not there', async () => {
  const refusal = async (grader: object) => {
    const { json } = await call('validate', { grader })
    return (json as unknown as { error: { message: string } }).error.message
  }
  const long = { ...program, source: '#'.repeat(150_000) }
  assert.match(
    await refusal({ ...long, source: '#'.repeat(262_145) }),
    /grader\.source must have at most 262144 characters/,
  )
  const two = { ...multi('a + b'), graders: { a: long, b: long } }
  assert.match(await refusal(two), /must have at most 262144 bytes of Python source together/)
  assert.match(
    await refusal({ ...program, image_tag: 'latest' }),
    /grader\.image_tag must be 20\d\d-\d\d-\d\d: no other/,
  )
})
