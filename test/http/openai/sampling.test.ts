import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { SamplingExtras } from '../../../src/domain/sampling-extras.ts'
import { openAiRoutes } from '../../../src/http/openai/routes.ts'
import { promptsOf, type CompletionRequest } from '../../../src/inference/request.ts'
import { startPublic } from '../support.ts'

const chat = '/openai/v1/chat/completions'
const completions = '/openai/v1/completions'
const messages = [{ role: 'user', content: 'Who?' }]

/** What goes to the engines, our own and vLLM alike, in the words of both. */
const passedOn: SamplingExtras = {
  presence_penalty: 0.5,
  frequency_penalty: -1,
  repetition_penalty: 1.1,
  logit_bias: { 5: 1, 6: -100 },
  top_k: 40,
  min_p: 0.05,
  include_stop_str_in_output: true,
}

suite('Sampling and probabilities of OpenAI routes', async () => {
  const asked: CompletionRequest[] = []
  const scores = { content: [{ token: 'T', logprob: -0.5, bytes: [84], top_logprobs: [] }] }
  const lists = { tokens: ['T'], token_logprobs: [null], top_logprobs: [null], text_offset: [0] }
  const inference = {
    complete: (input: CompletionRequest) => {
      asked.push(input)
      input.meter?.countTokens({ promptTokens: 5, completionTokens: 2 })
      const { seed, extras } = input.sampling
      const logprobs = extras?.logprobs === undefined ? null : extras.logprobs === true ? scores : lists
      input.onText?.(`seed ${seed}`, logprobs)
      const outputs = promptsOf(input.input).map((prompt) => ({ output: `${String(prompt)} seed ${seed}` }))
      const finishReasons = outputs.map(() => 'stop')
      return Promise.resolve({ outputs, finishReasons, ...(logprobs && { logprobs: outputs.map(() => logprobs) }) })
    },
  }
  const edge = await startPublic({ inference, database: { models: { find: () => Promise.resolve(null) } } })
  const post = (path: string, json: object) => edge.call('POST', path, { json: { model: 'tiny', ...json } })
  const complete = async (json: object) => {
    asked.length = 0
    return (await post(completions, json)).json
  }

  test('refuses unknown fields of its objects by name', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } }
    for (const [path, more, param] of [
      [chat, { stream_options: { every: 1 } }, 'stream_options.every'],
      [completions, { stream_options: { every: 1 } }, 'stream_options.every'],
      [chat, { response_format: { ...format, schema: {} } }, 'response_format.schema'],
      [
        chat,
        { response_format: { ...format, json_schema: { ...format.json_schema, depth: 1 } } },
        'response_format.json_schema.depth',
      ],
    ] as const) {
      const { json } = await post(path, { ...(path === chat ? { messages } : { prompt: 'a' }), ...more })
      assert.equal(json.error?.param, param)
    }
  })

  test('passes on the fields that engines honour, and none when none is sent', async () => {
    for (const [path, body] of [
      [chat, { messages }],
      [completions, { prompt: 'a' }],
    ] as const) {
      assert.equal((await post(path, { ...body, ...passedOn })).status, 200)
      assert.deepEqual(asked.at(-1)?.sampling.extras, passedOn)
      const nothing = { presence_penalty: 0, frequency_penalty: 0, repetition_penalty: 1, logit_bias: {}, top_k: -1 }
      await post(path, { ...body, ...nothing, min_p: 0, n: 1 })
      assert.ok(!('extras' in (asked.at(-1)?.sampling ?? {})))
    }
  })

  test('answers each prompt n times, each choice with a seed of its own', async () => {
    const { choices, usage } = await complete({ prompt: ['a', 'b'], n: 3, seed: 7 })
    assert.deepEqual(
      choices.map(({ index, text }: { index: number; text: string }) => [index, text]),
      ['a seed 7', 'a seed 8', 'a seed 9', 'b seed 7', 'b seed 8', 'b seed 9'].map((text, index) => [index, text]),
    )
    assert.equal(usage.completion_tokens, 6)
    await complete({ prompt: 'a', n: 3 })
    assert.deepEqual(
      asked.map(({ sampling }) => sampling.seed),
      [null, null, null],
    )
  })

  test('computes equal choices once', async () => {
    const { choices } = await complete({ prompt: 'a', n: 3, temperature: 0 })
    assert.deepEqual([choices.length, asked.length], [3, 1])
  })

  test('streams n choices, each by its index', async () => {
    const { text } = await post(chat, { messages, n: 2, seed: 1, stream: true, temperature: 0 })
    const chunks = text.split('\n\n').filter((line) => line.startsWith('data: {'))
    const choices = chunks.map((line) => JSON.parse(line.slice(6)).choices[0])
    for (const index of [0, 1]) {
      const own = choices.filter((choice) => choice.index === index)
      assert.equal(own.map(({ delta }) => delta.content ?? '').join(''), `seed ${index + 1}`)
      assert.equal(own.at(-1).finish_reason, 'stop')
    }
  })

  test('answers and streams log-probabilities as the engine writes them', async () => {
    const body = { messages, logprobs: true, top_logprobs: 2 }
    assert.deepEqual((await post(chat, body)).json.choices[0].logprobs, scores)
    assert.deepEqual(asked.at(-1)?.sampling.extras, { logprobs: true, top_logprobs: 2 })
    const [first] = (await post(chat, { ...body, stream: true })).text.split('\n\n')
    assert.deepEqual(JSON.parse(first?.slice(6) ?? '').choices[0].logprobs, scores)
    const scored = await complete({ prompt: 'a', logprobs: 0, echo: true, max_tokens: 0 })
    assert.deepEqual(scored.choices[0].logprobs, lists)
    assert.deepEqual(asked.at(-1)?.sampling.extras, { echo: true, logprobs: 0 })
    assert.equal(asked.at(-1)?.answer.maxTokens, 0)
  })

  test('takes a prompt or a list of prompts as token ids', async () => {
    await complete({ prompt: [5, 6] })
    assert.deepEqual(asked[0] && promptsOf(asked[0].input), [[5, 6]])
    await complete({ prompt: [[5, 6], [7]] })
    assert.deepEqual(asked[0] && promptsOf(asked[0].input), [[5, 6], [7]])
  })

  const refused: [param: string, path: string, body: object][] = [
    ['max_tokens', completions, { prompt: 'a', max_tokens: 0 }],
    ['echo', completions, { prompt: 'a', echo: true, stream: true }],
    ['n', completions, { prompt: Array.from({ length: 101 }, () => 'a'), n: 100 }],
    ['best_of', completions, { prompt: 'a', best_of: 2 }],
    ['prompt', completions, { prompt: [[]] }],
    ['prompt', completions, { prompt: [5, 'a'] }],
    ['top_logprobs', chat, { messages, top_logprobs: 2 }],
    ['top_logprobs', chat, { messages, logprobs: true, top_logprobs: 21 }],
    ['logit_bias', chat, { messages, logit_bias: { word: 1 } }],
    [
      'logit_bias',
      chat,
      { messages, logit_bias: Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 1])) },
    ],
    ['structured_outputs.choice', chat, { messages, structured_outputs: { choice: ['a', 'b'.repeat(262_144)] } }],
    [
      'logprobs',
      chat,
      {
        messages,
        logprobs: true,
        tools: [{ type: 'function', function: { name: 'f', parameters: properties() } }],
        tool_choice: 'required',
      },
    ],
  ]
  for (const [param, path, body] of refused)
    test(`names ${param} in its refusal of ${JSON.stringify(body).slice(0, 70)}`, async () => {
      const { status, json } = await post(path, body)
      assert.equal(status, 400)
      assert.ok(json.error.param.startsWith(param), JSON.stringify(json))
    })

  test('has a row of the table in docs/openai.md for every parameter', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/openai.md'), 'utf8')
    const rows = page.split('## Parameters and engines')[1]?.split('\n## ')[0]?.split('\n') ?? []
    const documented = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name),
    )
    const paths = [chat, completions, '/openai/v1/embeddings']
    const taken = openAiRoutes
      .filter(({ path }) => paths.includes(path))
      .flatMap(({ body }) => Object.keys((body as unknown as { shape: object }).shape))
    assert.deepEqual(new Set(documented), new Set(taken))
    for (const row of rows.filter((line) => line.startsWith('| `'))) assert.equal(row.split('|').length, 6, row)
  })
})

function properties() {
  return { type: 'object', properties: { n: { type: 'integer' } } }
}
