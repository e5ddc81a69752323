// Questions whose answers stand only in stored rows, asked of the real models.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { connectStoredRowSearch } from '../../src/repositories/stored-row-search.ts'
import { paraphrases, questionSet, unrelatedPrompts } from '../support/question-set.ts'
import { connection, openAccount, type Api } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

type Output = { output: string }
type Stored = { dataset: string }

const rowOf = (text: string) => ({ fact: { text } })
const facts = [...questionSet, ...paraphrases].map(({ fact }) => rowOf(fact))
const questions = questionSet.map(({ question }) => question)

suite('retrieval', () => {
  const id = `facts-${randomUUID()}`
  const search = connectStoredRowSearch(connection().databaseUrl, { connections: 1, timeoutMs: 60_000 })
  const client = new pg.Client({ connectionString: connection().databaseUrl })
  let [mine, other]: Api[] = []
  let accountId = ''

  before(async () => {
    await client.connect()
    mine = await openAccount()
    other = await openAccount()
    await mine.post<Stored>('/v1/svc/data', { id, data: facts })
    accountId = await accountOf(id)
    await embedded(id)
  })
  after(async () => {
    await client.end()
    await search.close()
  })

  async function accountOf(collection: string): Promise<string> {
    const { rows } = await client.query<{ account_id: string }>(
      'select account_id from stored_rows where collection = $1 limit 1',
      [collection],
    )
    return rows[0]?.account_id ?? assert.fail('nothing is stored')
  }

  const embedded = (collection: string) =>
    eventually(async () => {
      const { rows } = await client.query('select 1 from stored_rows where collection = $1 and embedding is null', [
        collection,
      ])
      return rows.length === 0
    })

  const api = () => mine ?? assert.fail('no account')
  const ask = async (prompt: string[], more: object = {}, account = api()) =>
    (
      await account.post<Output[]>('/v1/completions', {
        model_name: connection().baseModel,
        prompt,
        max_tokens: 24,
        ...more,
      })
    ).map(({ output }) => output)

  async function recall(asked: { fact: string; question: string }[], limit: number): Promise<number> {
    const prompt = asked.map(({ question }) => question)
    const { embedding } = await api().post<{ embedding: number[][] }>('/v1/embedding', { prompt })
    const found = await search.nearest({ accountId, collection: id }, embedding, limit)
    return asked.filter(({ fact }, index) => found[index]?.some(({ text }) => text === fact)).length / asked.length
  }

  test('the row that a question needs is among the first rows found', async () => {
    for (const [name, asked, least] of [
      ['questions', questionSet, 0.9],
      ['paraphrases', paraphrases, 0.7],
    ] as const) {
      const rates = await Promise.all([1, 3].map((limit) => recall(asked, limit)))
      console.log(`${name}: recall@1 ${rates[0]?.toFixed(2)}, recall@3 ${rates[1]?.toFixed(2)} of ${asked.length}`)
      assert.ok((rates[1] ?? 0) >= least)
    }
  })

  test('questions are answered from the stored rows, and only with their id', async () => {
    const rate = (answers: string[]) =>
      questionSet.filter(({ answer }, index) => answers[index]?.includes(answer)).length / questionSet.length
    const [withRows, without] = [rate(await ask(questions, { id })), rate(await ask(questions))]
    console.log(`answers that hold what was asked: ${withRows.toFixed(2)} with the id, ${without.toFixed(2)} without`)
    assert.ok(withRows >= 0.75)
    assert.ok(without <= 0.25)
  })

  test('rows of another account never appear under any id', async () => {
    assert.deepEqual(await ask(questions, { id }, other), await ask(questions, {}, other))
    await other?.post('/v1/svc/data', { id, data: rowOf('Veltrano has the colour purple.') })
    await embedded(id)
    assert.match((await ask(['What is the colour of Veltrano?'], { id }))[0] ?? '', /red/)
    assert.match((await ask(['What is the colour of Veltrano?'], { id }, other))[0] ?? '', /purple/)
    assert.deepEqual(await other?.post('/v1/svc/delete_data', { id }), { deleted: 1 })
    assert.match((await ask(['What is the colour of Veltrano?'], { id }))[0] ?? '', /red/)
  })

  test('rows below the threshold are left out: the answer is that of the prompt alone', async () => {
    assert.deepEqual(await ask(unrelatedPrompts, { id }), await ask(unrelatedPrompts))
  })

  test('a typed answer keeps its type and comes from the rows, which are shown if asked for', async () => {
    type Typed = { outputs: { Answer: string; known: boolean }[]; rows: string[][] }
    const { outputs, rows } = await api().post<Typed>('/v2/completions', {
      model_name: connection().baseModel,
      id,
      prompt: ['What is the colour of Veltrano?', ...unrelatedPrompts],
      output_type: { Answer: 'str', known: 'bool' },
      max_tokens: 10,
      include_rows: true,
    })
    assert.deepEqual(Object.keys(outputs[0] ?? {}).toSorted(), ['Answer', 'known'])
    assert.match(outputs[0]?.Answer ?? '', /red/)
    assert.equal(rows[0]?.[0], 'Veltrano has the colour red.')
    assert.deepEqual(
      rows.slice(1),
      unrelatedPrompts.map(() => []),
    )
  })

  test('a prompt that fills the context is answered without rows', async () => {
    // 999 tokens: with 24 for the answer the context of 1,024 has room for no row.
    const prompt = `${'a b c d e f g h '.repeat(123)} What is the colour of Veltrano?`
    assert.deepEqual(await ask([prompt], { id }), await ask([prompt]))
  })

  test('rows kept under a model name serve its queries; an id may stand in place of a model', async () => {
    await api().post('/v1/svc/data', { model_name: 'tiny', data: rowOf('Ostrapu has the owner Boris.') })
    await embedded(connection().baseModel)
    const [ofModel] = await ask(['What is the owner of Ostrapu?'])
    const [ofId] = await ask(['What is the colour of Veltrano?'], { model_name: id })
    assert.match(ofModel ?? '', /Boris/)
    assert.match(ofId ?? '', /red/)
    assert.deepEqual(await api().post('/v1/svc/delete_data', { id: 'tiny' }), { deleted: 1 })
    assert.doesNotMatch((await ask(['What is the owner of Ostrapu?']))[0] ?? '', /Boris/)
  })

  test('a deleted row is in no answer from then on', async () => {
    assert.deepEqual(await api().post('/v1/svc/delete_data', { id }), { deleted: facts.length })
    assert.deepEqual(await ask(questions, { id }), await ask(questions))
    assert.deepEqual(await api().post('/v1/svc/delete_data', { id }), { deleted: 0 })
  })

  test('training with an id uses all of its rows, inputs and outputs as they were named', async () => {
    const pairs = Array.from({ length: 5 }, (_, index) => ({
      question: { topic: `t${index}`, text: `What is item ${index}?` },
      answer: { text: `It is ${index}.` },
    }))
    const { dataset } = await api().post<Stored>('/v1/svc/data', { id: `train-${id}`, data: pairs })
    const started = await api().post<{ job_id: string; dataset_id: string }>('/v1/train', {
      model_name: connection().baseModel,
      id: `train-${id}`,
      finetune_args: { max_steps: 2 },
    })
    assert.equal(started.dataset_id, dataset)
    const jobId = Number(started.job_id)
    await api().untilStatus(jobId, 'COMPLETED')
    const { eval_results } = await api().get<{ eval_results: { input: string }[] }>(`/v1/train/jobs/${jobId}/eval`)
    assert.deepEqual(
      eval_results.map(({ input }) => input),
      pairs.map((_, index) => `topic: t${index}, text: What is item ${index}?`),
    )
  })
})
