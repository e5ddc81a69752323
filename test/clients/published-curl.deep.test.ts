// curl in the forms that the old platform's documentation shows: long options, headers on every request, bodies over several
// lines, model names and jobs put in; nothing else is set than the address and the key.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { sampleFile, sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { patienceMs } from '../support/eventually.ts'

const run = promisify(execFile)

suite('published curl commands', async () => {
  const api = await openAccount()
  const location = await api.upload('uploaded', sampleFile)
  const variables: Record<string, string> = {
    LAMINI_API_URL: connection().apiUrl,
    LAMINI_API_KEY: api.apiKey,
    MODEL: connection().baseModel,
    LOCATION: location,
  }
  const headers = `--header "Authorization: Bearer $LAMINI_API_KEY" \\
    --header "Content-Type: application/json"`

  async function shell<T>(command: string): Promise<T> {
    const options = { env: { PATH: process.env['PATH'], ...variables }, timeout: patienceMs }
    const { stdout } = await run('bash', ['-c', command.replace('curl ', 'curl --silent --fail-with-body ')], options)
    return JSON.parse(stdout) as T
  }
  const post = <T>(path: string, body: object) =>
    shell<T>(`curl --location "$LAMINI_API_URL${path}" \\
    ${headers} \\
    --data '${JSON.stringify(body, null, 4).replaceAll('$MODEL', `'"$MODEL"'`).replaceAll('$LOCATION', `'"$LOCATION"'`)}'`)
  const request = <T>(method: string, path: string) =>
    shell<T>(`curl --location --request ${method} "$LAMINI_API_URL${path}" \\
    ${headers}`)

  const model_name = '$MODEL'

  test('a completion, plain and typed, of one prompt and of many', async () => {
    assert.deepEqual(Object.keys(await post<object>('/v1/completions', { model_name, prompt: 'How are you?' })), [
      'output',
    ])
    const typed = await post<Record<string, unknown>>('/v1/completions', {
      model_name,
      prompt: 'How old are you?',
      output_type: { age: 'int', units: 'str' },
    })
    assert.deepEqual([typeof typed['age'], typeof typed['units']], ['number', 'string'])
    const many = await post<object[]>('/v1/completions', {
      model_name,
      prompt: ['How old is Carl?', 'How old is Paul?'],
      out_type: { Answer: 'string' },
    })
    assert.deepEqual(many.map(Object.keys), [['Answer'], ['Answer']])
    const template = '<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n How are you? <|eot_id|>'
    assert.equal(
      typeof (await post<{ output: string }>('/v1/completions', { model_name, prompt: template })).output,
      'string',
    )
  })

  test('an embedding, with the default model and with its published name', async () => {
    for (const more of [{}, { model_name: 'sentence-transformers/all-MiniLM-L6-v2' }, { latency_sensitive: true }]) {
      const { embedding } = await post<{ embedding: number[] }>('/v1/inference/embedding', {
        prompt: 'How are you?',
        ...more,
      })
      assert.equal(embedding.length, 384)
    }
  })

  test('a place to upload to, then training on it; training on rows in the request', async () => {
    const place = await post<Record<string, string>>('/v1/data', { dataset_id: 'my-set' })
    assert.deepEqual(Object.keys(place).toSorted(), ['dataset_id', 'dataset_location', 'upload_base_path'])
    const uploaded = await post<Record<string, string>>('/v1/train', { model_name, upload_file_path: '$LOCATION' })
    const inline = await post<Record<string, string>>('/v1/train', {
      model_name,
      data: sampleRows.slice(0, 3),
      finetune_args: { max_steps: 1, index_method: 'IndexFlatL2', index_max_size: 1, max_finetuning_examples: 3 },
      gpu_config: { gpus: 0, nodes: 0 },
    })
    assert.deepEqual([uploaded['status'], inline['status']], ['CREATED', 'CREATED'])
    variables['LONG'] = String(uploaded['job_id'])
    variables['JOB_ID'] = String(inline['job_id'])
  })

  test('jobs: the list, one of them, cancel and resume, the evaluation', async () => {
    assert.deepEqual(await request('POST', '/v1/train/jobs/$LONG/cancel'), {
      message: `cancelled ${variables['LONG']}`,
      status: 'CANCELLED',
    })
    await api.untilStatus(Number(variables['JOB_ID']), 'COMPLETED')
    const ids = (await request<{ job_id: number }[]>('GET', '/v1/train/jobs')).map(({ job_id }) => String(job_id))
    assert.deepEqual(ids, [variables['JOB_ID'], variables['LONG']])
    const job = await request<Record<string, unknown>>('GET', '/v1/train/jobs/$JOB_ID')
    assert.deepEqual([job['status'], typeof job['model_name'], job['custom_model_name']], ['COMPLETED', 'string', ''])
    for (const path of ['/v1/lamini/train/jobs/$JOB_ID/eval', '/v1/train/jobs/$JOB_ID/eval'])
      assert.ok((await request<{ eval_results: unknown[] }>('GET', path)).eval_results.length > 0)
    await api.untilStatus(Number(variables['LONG']), 'CANCELLED')
    assert.equal((await request<{ status: string }>('POST', '/v1/train/jobs/$LONG/resume')).status, 'QUEUED')
    assert.equal((await request<{ cancelled: number }>('POST', '/v1/train/jobs/cancel')).cancelled, 1)
  })

  test('rows kept under an id', async () => {
    const data = [{ question: { text: 'When?' }, answer: { text: 'At nine.' } }]
    const data_type = { question: { text: 'What was asked' }, answer: { text: 'What to say' } }
    const { dataset } = await post<{ dataset: string }>('/v1/lamini/data', { id: 'APIExample', data, data_type })
    assert.match(dataset, /^[0-9a-f]{32}$/)
    assert.deepEqual(await post('/v1/lamini/delete_data', { id: 'APIExample' }), { deleted: 1 })
  })

  test('the models of the catalogue, with and without a slash at the end', async () => {
    for (const path of ['/v1alpha/downloaded_models/', '/v1alpha/downloaded_models']) {
      assert.ok((await request<unknown[]>('GET', path)).length > 0)
      assert.equal((await post<{ status: string }>(path, { hf_model_name: '$MODEL' })).status, 'available')
    }
  })
})
