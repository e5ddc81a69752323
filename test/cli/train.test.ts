// `anneal train` against a service that only records what it is asked.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startRecordingService } from '../support/recording-service.ts'

const folder = mkdtempSync(join(tmpdir(), 'anneal-train-'))
const file = join(folder, 'held-out.jsonl')
writeFileSync(file, '{"input": "Who?", "output": "Me."}\n')
const estimate = {
  ...{ dry_run: true, rows: 40, tokens: 1200, steps: 60, epochs: 1.5, based_on: 3, note: 'From 3 jobs.' },
  ...{ learned_tokens: 700, counted_rows: 40 },
  ...{ estimated_seconds: { low: 9, likely: 12.4, high: 20 }, estimated_gpu_seconds: { low: 0, likely: 0, high: 0 } },
  warnings: ['gpu_config["gpu"] is not known and has no effect. Did you mean gpus?'],
}
const sequence = {
  ...{
    role: 'answer',
    tokens: ['<s>', 'Who', '?', ' ', 'Me', '</s>'],
    ids: [1, 5, 6, 7, 8, 2],
    trained_spans: [[4, 6]],
  },
  ...{ length: 6, learned: 2, replaced: [], truncated: false, dropped: false, has_end: true },
}
const preview = {
  preview: true,
  rows: [
    { line: 1, sequences: [sequence], error: null },
    { line: 2, sequences: [{ ...sequence, tokens: [], trained_spans: [[1, 2]], truncated: true }], error: null },
    { line: 3, sequences: null, error: { field: 'output', reason: 'is empty' } },
  ],
  totals: { rows: 3, tokens: 12, learned: 3, bad: 1, cut: 1, dropped: 0, without_end: 0, complete: true },
}
const models = { data: [{ id: 'm', aliases: [], recommended_args: { learning_rate: 0.1, max_steps: 9 } }] }
const { asked, ...service } = await startRecordingService(({ url, body }, { url: origin }) => {
  if (url.startsWith('/v1/models')) return { body: models }
  if (url.includes('/rows?')) return { body: { columns: ['prompt', 'completion', 'label'] } }
  if (url !== '/v1/data') return { body: body.includes('"preview":true') ? preview : estimate }
  const { dataset_id: id } = JSON.parse(body) as { dataset_id: string }
  return { body: { dataset_id: id, dataset_location: `${origin}/put/${id}` } }
})
after(() => rmSync(folder, { recursive: true }))
const train = (...args: string[]) => service.anneal(['train', '--model', 'm', ...args])

test('a dry run sends every option, prints the estimate, and tells the warnings', async () => {
  const options = [
    '--gpus',
    '2',
    '--graders',
    'f1, bleu',
    '--eval-rows',
    '5',
    '--metadata',
    'team=search',
    '--metadata',
    'note=a=b',
  ]
  const { stdout, stderr, code } = await train(
    ...[
      '--dataset',
      'rows',
      '--set',
      'learning_rate=0.1',
      '--name',
      'mine',
      '--method',
      'dpo',
      '--set',
      'beta=0.2',
      '--eval-data',
      file,
      '--dry-run',
    ],
    ...options,
  )
  assert.equal(code, 0, stderr)
  const evaluationId = /^held-out-[0-9a-f]{12}$/
  assert.deepEqual(
    asked.map(({ url }) => url.replace(/held-out-.*/, '')),
    ['/v1/models?limit=1', '/v1/data', '/put/', '/v1/train'],
  )
  const { eval_dataset_id: evaluated, ...body } = JSON.parse(asked.at(-1)?.body ?? '') as Record<string, unknown>
  assert.match(String(evaluated), evaluationId)
  assert.deepEqual(body, {
    model_name: 'm',
    dataset_id: 'rows',
    finetune_args: { learning_rate: 0.1 },
    method: { type: 'dpo', dpo: { hyperparameters: { beta: 0.2 } } },
    custom_model_name: 'mine',
    gpu_config: { gpus: 2 },
    evaluation: { graders: ['f1', 'bleu'], max_rows: 5 },
    metadata: { team: 'search', note: 'a=b' },
    dry_run: true,
  })
  assert.match(
    stdout,
    /^rows +40\ntokens +about 1200\nlearned +about 700 tokens in a pass\nsteps +60, 1\.5 passes.*\ntime +12 s, between 9 and 20 s\nnote /,
  )
  assert.match(stderr, /^Warning: .*Did you mean gpus\?$/m)
})

test('several data sets are sent with their weights, and wrong ones are refused before anything is sent', async () => {
  const { stderr, code } = await train('--dataset', 'a:3', '--dataset', 'b', '--dataset', 'c:0.5', '--dry-run')
  assert.equal(code, 0, stderr)
  const { datasets, dataset_id: one } = JSON.parse(asked.at(-1)?.body ?? '') as Record<string, unknown>
  const expected = [{ dataset_id: 'a', weight: 3 }, { dataset_id: 'b' }, { dataset_id: 'c', weight: 0.5 }]
  assert.deepEqual([datasets, one], [expected, undefined])
  const before = asked.length
  const wrong = [['a:0'], ['a:x'], ['a:'], ['a:-1'], ['a:Infinity']]
  for (const ids of wrong) {
    const refused = await train(...ids.flatMap((id) => ['--dataset', id]))
    assert.match(refused.stderr, /takes ID or ID:WEIGHT with a weight above 0/)
  }
  const columns = await train('--dataset', 'a', '--dataset', 'b', '--output-column', 'x')
  assert.match(columns.stderr, /for each data set/)
  assert.equal(asked.length, before)
})

test('a preview marks what is learned, and says which rows are cut or bad', async () => {
  const { stdout, stderr, code } = await train('--dataset', 'rows', '--set', 'train_on=everything', '--preview')
  assert.equal(code, 0, stderr)
  assert.deepEqual(JSON.parse(asked.at(-1)?.body ?? ''), {
    ...{ model_name: 'm', dataset_id: 'rows', finetune_args: {}, preview: true },
    method: { type: 'supervised', supervised: { hyperparameters: { train_on: 'everything' } } },
  })
  const says = [
    '⟦this⟧ is learned.',
    'line 1\nanswer: 2 of 6 tokens are learned\n<s>Who? ⟦Me</s>⟧',
    'line 2\nanswer: 2 of 6 tokens are learned, cut to max_length\n …',
    'line 3\noutput: is empty',
    'all 3 rows: 3 of 12 tokens are learned, 1 cannot be learned, 1 are cut',
  ]
  assert.equal(stdout, `${says.join('\n\n')}\n`)
})

test('judged answers without --method kto are told before the job starts', async () => {
  const { stderr } = await train(file)
  assert.match(stderr, /^Warning: "label" is for the method kto: .*Choose kto/m)
  const order = asked.slice(-2).map(({ url }) => url.replace(/data\/.*\?/, 'data/ID?'))
  assert.deepEqual(order, ['/v1/data/ID?limit=20', '/v1/train'])
})

test('wrong options are refused before anything is uploaded', async () => {
  const before = asked.length
  for (const [args, says] of [
    [['--method', 'ppo'], /--method takes supervised, dpo, kto, reinforcement, not "ppo"/],
    [['--method', 'orpo'], /orpo is a loss of dpo: --method dpo --set loss_type=orpo/],
    [['--method', 'reinforcement'], /A reinforcement job needs a grader/],
    [['--set', 'beta=0.2'], /beta is a hyperparameter of dpo, kto, not of supervised/],
    [['--method', 'dpo', '--set', 'rl_beta=0.2'], /The method dpo calls it beta/],
    [['--method', 'dpo', '--grader', file], /A grader is for --method reinforcement, not for dpo/],
    [['--method', 'reinforcement', '--grader', 'none.json'], /There is no file .*none\.json/],
    [['--dry-run', '--watch'], /A dry run starts no job/],
    [['--preview', '--watch'], /A preview starts no job/],
    [['--gpus', 'two'], /--gpus takes a whole number/],
    [['--metadata', 'team'], /--metadata takes NAME=VALUE/],
    [['--dryrun'], /no option --dryrun\. Did you mean --dry-run\?/],
  ] as const) {
    const { code, stderr } = await train(file, ...args)
    assert.deepEqual([code, says.test(stderr)], [2, true], stderr)
  }
  assert.equal(asked.length, before)
})
