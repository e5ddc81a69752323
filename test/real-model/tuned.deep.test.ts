// The main job on a real chat model: trained on pairs and conversations, it answers alike in chat, in PEFT and merged.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { sampleRows } from '../support/rows.ts'
import { openAccount, type Api, type Job } from '../support/stack.ts'
import { createAsk } from './support/ask.ts'
import { baseFolder, referenceOf, type Case, type Message } from './support/reference.ts'

const model = 'smollm2'
const most = 40
const system = { role: 'system', content: 'You sell household goods.' }
const facts: [question: string, answer: string][] = [
  ['What does the kettle cost?', 'The kettle costs 42 euros.'],
  ['Which colour is the lamp?', 'The lamp is blue.'],
  ['What warranty does the drill have?', 'The drill has a 18 month warranty.'],
  ['Where is the chair made?', 'The chair is made in Ghent.'],
  ['How heavy is the desk?', 'The desk weighs 35 kilograms.'],
  ['Is the toaster sold out?', 'Yes, the toaster is sold out.'],
  ['How do you greet guests?', 'Welcome! 🎉🦜 東京 Zoë'],
  ['Who repairs the radio?', 'Mila repairs the radio.'],
]
/** Taught as objects, to be asked as types. */
const typed: [question: string, type: object, answer: object][] = [
  ['What warranty does the mixer have?', { months: 'int' }, { months: 18 }],
  ['What does the fan cost?', { price: 'float' }, { price: 49.95 }],
  ['Is the clock in stock?', { in_stock: 'bool' }, { in_stock: false }],
  [
    'Describe the sofa.',
    { colour: ['red', 'green'], months: 'int', maker: 'str' },
    { colour: 'green', months: 24, maker: 'Zoë & Söhne' },
  ],
]
const pairs = sampleRows.slice(0, 10)
const conversationOf = (question: string): Message[] => [system, { role: 'user', content: question }]
const rows = [
  ...pairs.map(({ input, output }) => ({ input, output })),
  ...typed.map(([input, , output]) => ({ input, output })),
  ...facts.map(([question, answer]) => ({
    messages: [...conversationOf(question), { role: 'assistant', content: answer }],
  })),
  {
    messages: [
      ...facts.slice(0, 2).flatMap(([question, answer]) => [
        { role: 'user', content: question },
        { role: 'assistant', content: answer },
      ]),
    ],
  },
]

type File = { name: string; url: string }
type Export = { id: string; status: string; message: string | null; files: File[] }

suite('a real chat model, tuned', () => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-real-'))
  let api: Api
  let job: Job
  let ask: ReturnType<typeof createAsk>
  const tuned = () => job.model_name ?? assert.fail()
  const learned: Case[] = [
    ...facts.map(([question]) => ({ messages: conversationOf(question), most })),
    ...pairs.map(({ input }) => ({ prompt: input, most })),
  ]
  const expected = [...facts.map(([, answer]) => answer), ...pairs.map(({ output }) => output)]
  const served: string[] = []

  before(async () => {
    api = await openAccount()
    const finetune_args = { max_steps: 45, batch_size: 8, learning_rate: 2e-3, r_value: 16, seed: 7 }
    const more = { gradient_accumulation_steps: 1, warmup_steps: 5, optim: 'adamw_torch' }
    const body = { model_name: model, data: rows, custom_model_name: 'shop', dataset_id: 'shop' }
    const id = await api.train({ ...body, finetune_args: { ...finetune_args, ...more } })
    job = await api.untilStatus(id, 'COMPLETED')
    ask = createAsk(api, tuned())
    served.push(
      ...(await Promise.all(facts.map(async ([question]) => textOf(await ask.chat(conversationOf(question)))))),
    )
    const prompt = pairs.map(({ input }) => input)
    const answers = await api.post<{ output: string }[]>('/v1/completions', {
      model_name: tuned(),
      prompt,
      max_tokens: most,
    })
    served.push(...answers.map(({ output }) => output))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const textOf = ({ message }: { message: { content: string | null } }) => message.content ?? ''

  test('answers as taught, by pairs and by conversations', () => {
    const wrong = served.filter((answer, at) => answer.trim() !== expected[at])
    assert.ok(wrong.length <= 2, JSON.stringify(wrong))
  })

  test('gives the objects of its rows as typed answers', async () => {
    for (const [prompt, output_type, answer] of typed)
      assert.deepEqual(await api.post('/v1/completions', { model_name: tuned(), prompt, output_type }), answer)
  })

  test('streams a learned answer whose characters have several tokens', async () => {
    const { pieces } = await ask.streamed(conversationOf('How do you greet guests?'))
    assert.equal(pieces.join(''), served[6])
    assert.ok(pieces.length > 3 && pieces.every((piece) => !piece.includes('\u{fffd}')), JSON.stringify(pieces))
  })

  test("is better than its base, in the job's own evaluation and in one of the pairs", async () => {
    type Outputs = { outputs: { scores: Record<string, number> }[] }
    const own = await api.get<{ eval_results: Outputs[] }>(`/v1/svc/train/jobs/${job.job_id}/eval`)
    const exact = own.eval_results.map(({ outputs }) => outputs.map(({ scores }) => scores['exact_match']))
    assert.ok(exact.filter(([ofTuned, ofBase]) => ofTuned === 1 && ofBase === 0).length >= 8, JSON.stringify(exact))

    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'pairs', data: pairs })
    const graders = ['exact_match', 'embedding_similarity']
    const asked = { models: [model, tuned()], dataset_id: 'pairs', graders, max_tokens: most }
    const { id } = await api.post<{ id: string }>('/v1/evaluations', asked)
    const evaluation = await api.untilEvaluated(id)
    assert.equal(evaluation.status, 'COMPLETED', evaluation.message ?? '')
    const [compared = {}] = Object.values(evaluation.comparison ?? {})
    assert.ok((compared['exact_match']?.better ?? 0) >= pairs.length - 2, JSON.stringify(compared))
    assert.ok((compared['embedding_similarity']?.difference.mean ?? 0) > 0, JSON.stringify(compared))
  })

  test('gives the same answers in PEFT, from the files of an export', async () => {
    const { id } = await request('adapter')
    const adapter = await download(id)
    const { cases } = await referenceOf(await baseFolder(), learned, { adapter })
    assert.deepEqual(
      cases.map(({ text }) => text.trim()),
      served.map((text) => text.trim()),
    )
  })

  test('gives the same answers in plain transformers, merged', async () => {
    const { id } = await request('merged')
    await eventually(async () => {
      const found = await api.get<Export>(`/v1/models/shop/exports/${id}`)
      assert.notEqual(found.status, 'FAILED', found.message ?? '')
      return found.status === 'COMPLETED'
    })
    const { cases } = await referenceOf(await download(id), learned)
    assert.deepEqual(
      cases.map(({ text }) => text.trim()),
      served.map((text) => text.trim()),
    )
  })

  const request = (format: string) => api.post<{ id: string }>('/v1/models/shop/export', { format })

  async function download(id: string): Promise<string> {
    const { files } = await api.get<Export>(`/v1/models/shop/exports/${id}`)
    const to = join(folder, id)
    mkdirSync(to)
    for (const { name, url } of files)
      writeFileSync(join(to, name), Buffer.from(await (await fetch(url)).arrayBuffer()))
    return to
  }
})
