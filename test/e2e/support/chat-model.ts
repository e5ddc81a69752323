// A model that learned conversations gives the same answers wherever it is asked: by chat, by completions, by batches, in the
// evaluation of its job, and in evaluations of conversations and of pairs.
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { exactMatch } from '../../../src/grading/text-scores.ts'
import { eventually } from '../../support/eventually.ts'
import { connection, openAccount, type Api } from '../../support/stack.ts'

const most = 48

type Taught = {
  system: string
  questions: readonly { input: string; output: string }[]
  finetuneArgs: object
  /** The share of the questions that the model must answer exactly. */
  least: number
  /** Answers in which the evaluation of the job may differ: where two tokens are almost equally likely, the sums of the trainer decide. */
  mayDiffer?: number
}

/** Trains the first base model of the running stack on a conversation for each question, and asks it everywhere. */
export const testChatModel = ({ system, questions, finetuneArgs, least, mayDiffer = 0 }: Taught): void => {
  void suite('a model that learned conversations', () => {
    const conversations = questions.map(({ input, output }) => ({
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: input },
        { role: 'assistant', content: output },
      ],
    }))
    let api: Api
    let model: string
    let jobId: number
    let exact: number
    let answers: string[]
    const prompt = questions.map(({ input }) => input)
    /** By the grader that the evaluations use. */
    const score = (answers: string[]) =>
      answers.reduce((sum, answer, at) => sum + exactMatch(answer, questions[at]?.output ?? ''), 0) / questions.length

    before(async () => {
      api = await openAccount()
      const evaluation = { graders: [{ type: 'exact_match' }], max_tokens: most }
      const data = { data: conversations, dataset_id: 'chats', eval_data: conversations }
      jobId = await api.train({ ...data, evaluation, finetune_args: finetuneArgs })
      model = (await api.untilStatus(jobId, 'COMPLETED')).model_name ?? assert.fail()
      await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'pairs', data: questions })
      answers = await Promise.all(
        prompt.map(async (content) => {
          const messages = [
            { role: 'system', content: system },
            { role: 'user', content },
          ]
          const { choices } = await api.post<{ choices: { message: { content: string } }[] }>(
            '/openai/v1/chat/completions',
            { model, messages, max_tokens: most, temperature: 0 },
          )
          return choices[0]?.message.content ?? ''
        }),
      )
      exact = score(answers)
      assert.ok(exact >= least, `it learned its rows: ${exact}`)
    })

    test('says what it learned', async () => {
      const { data } = await api.get<{ data: Record<string, unknown>[] }>('/v1/models')
      const { versions } = await api.get<{ versions: Record<string, unknown>[] }>(`/v1/models/${model}`)
      const expected = { learned_form: 'conversations', has_chat_template: true, system_message: system }
      assert.partialDeepStrictEqual(
        data.find(({ id }) => id === model),
        expected,
      )
      assert.partialDeepStrictEqual(versions[0], expected)
      const base = data.find(({ id }) => id === connection().baseModel)
      assert.partialDeepStrictEqual(base, { learned_form: null, has_chat_template: true, system_message: null })
    })

    test('answers completions and batches with as_chat as it answers a chat', async () => {
      const asked = { model_name: model, prompt, as_chat: true, max_tokens: most }
      const outputs = await api.post<{ output: string }[]>('/v1/completions', asked)
      assert.equal(score(outputs.map(({ output }) => output)), exact)
      const { id } = await api.post<{ id: string }>('/v1/batch_completions', asked)
      const result = await eventually(async () => {
        const { outputs: done = [] } = await api.get<{ outputs?: ({ output: string } | null)[] }>(
          `/v1/batch_completions/${id}/result`,
        )
        return done.length === prompt.length && done.every((each) => each !== null) && done
      })
      assert.equal(score(result.map(({ output }) => output)), exact)
      const typed = { model_name: model, prompt: 'What?', as_chat: true, output_type: { n: 'int' } }
      assert.deepEqual(Object.keys(await api.post<object>('/v1/completions', typed)), ['n'])
    })

    test('warns in a header when a plain prompt is sent, and the body has the answer alone', async () => {
      const asked = { model_name: model, prompt: questions[0]?.input, max_tokens: 8 }
      for (const path of ['/v1/completions', '/v1/batch_completions']) {
        const { status, headers, body } = await api.request<object>('POST', path, asked)
        assert.deepEqual([status, Object.keys(body)], [200, [path.includes('batch') ? 'id' : 'output']])
        assert.match(headers.get('x-anneal-warning') ?? '', /this model learned conversations/i)
      }
      const { id } = await api.post<{ id: string }>('/v1/batch_completions', { ...asked, prompt })
      const { headers, body } = await eventually(async () => {
        const answer = await api.request<{ outputs?: unknown[] }>('GET', `/v1/batch_completions/${id}/result`)
        return answer.body.outputs?.every((each) => each !== null) && answer
      })
      assert.match(headers.get('x-anneal-warning') ?? '', /this model learned conversations/i)
      assert.deepEqual(Object.keys(body), ['outputs', 'finish_reason'])
    })

    test('gets the score of its chats in the evaluation of its job, and in evaluations of conversations and of pairs', async (t) => {
      type Summary = Record<string, { tuned: { mean: number } } | undefined>
      type Result = { outputs: { output: string }[] }
      const ofJob = `/v1/train/jobs/${jobId}/eval`
      const { summary, eval_results: results } = await api.get<{ summary: Summary; eval_results: Result[] }>(ofJob)
      for (const [at, { outputs }] of results.entries())
        if (outputs[0]?.output.trim() !== answers[at]?.trim())
          t.diagnostic(
            `${prompt[at]} Its job: ${JSON.stringify(outputs[0]?.output)}; chat: ${JSON.stringify(answers[at])}`,
          )
      const mean = summary['exact_match']?.tuned.mean ?? -1
      t.diagnostic(`${mean} by the evaluation of the job, ${exact} by chat`)
      assert.ok(Math.round(Math.abs(mean - exact) * questions.length) <= mayDiffer, `${mean} is not ${exact}`)
      const base = connection().baseModel
      const evaluate = async (dataset_id: string, more: object = {}) => {
        const body = { models: [model, base], dataset_id, graders: ['exact_match'], max_tokens: most, ...more }
        const { id } = await api.post<{ id: string }>('/v1/evaluations', body)
        const evaluation = await api.untilEvaluated(id)
        const { forms } = await api.get<{ forms: object | null }>(`/v1/evaluations/${id}`)
        return { ...evaluation, id, forms, mean: evaluation.summary?.[model]?.['exact_match']?.mean }
      }
      const asChats = { [model]: 'chat', [base]: 'chat' }
      for (const dataset of ['chats', 'pairs']) {
        const { status, message, mean, forms, id } = await evaluate(dataset)
        assert.deepEqual([status, mean, forms], ['COMPLETED', exact, asChats], message ?? '')
        t.diagnostic(`${dataset}: ${mean} by /v1/evaluations, ${exact} by chat`)
        const { rows } = await api.get<{ rows: { input: string; expected: string }[] }>(`/v1/evaluations/${id}/rows`)
        const { input = '', output } = questions[0] ?? {}
        const shown = dataset === 'chats' ? `system: ${system}\nuser: ${input}` : input
        assert.deepEqual([rows[0]?.input, rows[0]?.expected], [shown, output])
      }
      const plain = await evaluate('pairs', { as_chat: false })
      assert.deepEqual(plain.forms, { [model]: 'prompt', [base]: 'prompt' })
      t.diagnostic(`pairs with a plain prompt: ${plain.mean}`)
      assert.ok((plain.mean ?? 1) < exact, `a plain prompt is another form: ${plain.mean}`)
      const refused = await evaluate('chats', { as_chat: false })
      assert.equal(refused.status, 'FAILED')
      assert.match(refused.message ?? '', /holds conversations, which are asked as chats/)
    })

    test('leaves rows that cannot be evaluated out of an evaluation, where the request says so', async () => {
      const calls = [{ id: 'a', type: 'function', function: { name: 'find', arguments: '{}' } }]
      const messages = [
        { role: 'user', content: 'Who?' },
        { role: 'assistant', tool_calls: calls },
      ]
      const data = [{ messages }, ...conversations.slice(0, 2), { input: 'Who?' }]
      await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'mixed', data })
      const evaluate = async (more: object) => {
        const body = { models: [model], dataset_id: 'mixed', graders: ['exact_match'], max_tokens: 8, ...more }
        const { id } = await api.post<{ id: string }>('/v1/evaluations', body)
        await api.untilEvaluated(id)
        return api.get<Record<string, unknown> & { message: string; warnings?: string[] }>(`/v1/evaluations/${id}`)
      }
      const left = await evaluate({ skip_bad_rows: true })
      assert.deepEqual([left['status'], left['rows'], left['skipped_rows']], ['COMPLETED', 2, 2], left.message)
      assert.match(
        left.warnings?.[0] ?? '',
        /2 of 4 rows are bad and left out.*line 1: row: ends in a call.*line 4: output/,
      )
      const failed = await evaluate({})
      assert.equal(failed['status'], 'FAILED')
      assert.match(
        failed.message,
        /2 of 4 rows are bad.*or leave the bad rows out \(skip_bad_rows\) to evaluate the other 2 rows\.$/,
      )
    })
  })
}
