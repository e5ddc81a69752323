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
  ...{ estimated_seconds: { low: 9, likely: 12.4, high: 20 }, estimated_gpu_seconds: { low: 0, likely: 0, high: 0 } },
  warnings: ['gpu_config["gpu"] is not known and has no effect. Did you mean gpus?'],
}
const models = { data: [{ id: 'm', aliases: [], recommended_args: { learning_rate: 0.1, max_steps: 9 } }] }
const { asked, ...service } = await startRecordingService(({ url, body }, { url: origin }) => {
  if (url.startsWith('/v1/models')) return { body: models }
  if (url !== '/v1/data') return { body: estimate }
  const { dataset_id: id } = JSON.parse(body) as { dataset_id: string }
  return { body: { dataset_id: id, dataset_location: `${origin}/put/${id}` } }
})
after(() => rmSync(folder, { recursive: true }))
const train = (...args: string[]) => service.anneal(['train', '--model', 'm', ...args])

test('a dry run sends every option, prints the estimate, and tells the warnings', async () => {
  const options = ['--gpus', '2', '--graders', 'f1, bleu', '--metadata', 'team=search', '--metadata', 'note=a=b']
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
    evaluation: { graders: ['f1', 'bleu'] },
    metadata: { team: 'search', note: 'a=b' },
    dry_run: true,
  })
  assert.match(stdout, /^rows +40\ntokens +about 1200\nsteps +60, 1\.5 passes.*\ntime +12 s, between 9 and 20 s\nnote /)
  assert.match(stderr, /^Warning: .*Did you mean gpus\?$/m)
})

test('wrong options are refused before anything is uploaded', async () => {
  const before = asked.length
  for (const [args, says] of [
    [['--method', 'ppo'], /--method takes supervised, dpo, kto, not "ppo"/],
    [['--dry-run', '--watch'], /A dry run starts no job/],
    [['--gpus', 'two'], /--gpus takes a whole number/],
    [['--metadata', 'team'], /--metadata takes NAME=VALUE/],
    [['--dryrun'], /no option --dryrun\. Did you mean --dry-run\?/],
  ] as const) {
    const { code, stderr } = await train(file, ...args)
    assert.deepEqual([code, says.test(stderr)], [2, true], stderr)
  }
  assert.equal(asked.length, before)
})
