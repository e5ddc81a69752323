// The command line as a person or a script uses it: a process of its own against the running service.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { connection, openAccount, type Job } from '../support/stack.ts'

type Ended = { exitCode: number | null; stdout: string; stderr: string }

const sample = 'models/samples/products.jsonl'

suite('the command line', async () => {
  const { apiKey } = await openAccount()
  const here = { ANNEAL_URL: connection().apiUrl, ANNEAL_API_KEY: apiKey }
  const folder = mkdtempSync(join(tmpdir(), 'anneal-cli-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  const anneal = (args: string[], { env = here, input = '' }: { env?: NodeJS.ProcessEnv; input?: string } = {}) =>
    new Promise<Ended>((resolve, reject) => {
      const child = spawn(process.execPath, ['src/cli.ts', ...args], {
        cwd: root,
        env: { ...process.env, INIT_CWD: root, ...env },
      })
      const ended = { stdout: '', stderr: '' }
      child.stdout.on('data', (chunk) => (ended.stdout += String(chunk)))
      child.stderr.on('data', (chunk) => (ended.stderr += String(chunk)))
      child.once('error', reject)
      child.once('close', (exitCode) => resolve({ exitCode, ...ended }))
      child.stdin.end(input)
    })
  const json = async <T>(...args: string[]): Promise<T> => {
    const { exitCode, stdout, stderr } = await anneal([...args, '--json'])
    assert.equal(exitCode, 0, stderr)
    return JSON.parse(stdout) as T
  }

  test('trains on a file, follows the job, and its model answers', async () => {
    const heldOut = join(folder, 'held-out.csv')
    writeFileSync(heldOut, 'input,output\nWho are you?,A model.\n')
    const { exitCode, stdout, stderr } = await anneal([
      'train',
      sample,
      '--eval-data',
      heldOut,
      '--model',
      connection().baseModel,
      '--set',
      'max_steps=20',
      '--set',
      'batch_size=4',
      '--name',
      'mine',
      '--watch',
    ])
    assert.equal(exitCode, 0, stderr)
    assert.match(
      stdout,
      /TRAINING MODEL\n( +█+░* step \d+ {2}loss \d+\.\d{3}\n)? +█+░* step \d+ {2}loss \d+\.\d{3} {2}\d+ s left/,
    )
    const id = /training job (\d+) accepted/.exec(stdout)?.[1] ?? assert.fail(stdout)
    const job = await json<Job>('job', id)
    assert.deepEqual([job.status, job.custom_model_name], ['COMPLETED', 'mine'])
    assert.match(job.dataset_id, /^products-[0-9a-f]{12}$/)
    assert.match((await anneal(['jobs', '--status', 'COMPLETED'])).stdout, new RegExp(`^${id} +mine@1 +COMPLETED`, 'm'))
    assert.match((await anneal(['eval', id])).stdout, /^Who are you\?\n +expected +A model\.\n +tuned /)

    const followed = await anneal(['logs', id, '-f'])
    assert.deepEqual([followed.exitCode, followed.stdout], [0, (await anneal(['logs', id])).stdout], followed.stderr)
    assert.match(followed.stdout, /\S/)
    for (const [command, ...lines] of [
      ['events', /COMPLETED/],
      ['attempts', /^1 .* finished/m],
      ['metrics', /^20 +\d/m],
    ] as const)
      for (const line of lines) assert.match((await anneal([command, id])).stdout, line)
    const charts = await Promise.all([anneal(['metrics', id, '--chart']), anneal(['metrics', id, '--chart', '-f'])])
    assert.match(charts[0].stdout, /│█/)
    assert.equal(charts[1].stdout, charts[0].stdout, charts[1].stderr)
    const { stdout: followedEvents } = await anneal(['events', id, '-f', '--output', 'jsonl'])
    const { events } = await json<{ events: unknown[] }>('events', id)
    assert.deepEqual(
      followedEvents
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
      events,
    )

    const adapter = join(folder, 'adapter')
    for (const _repeat of [1, 2]) {
      const { files } = await json<{ files: { name: string }[] }>('models', 'download', 'mine', '--to', adapter)
      assert.deepEqual(readdirSync(adapter).toSorted(), files.map(({ name }) => name).toSorted())
    }
    const dry = await json<{ steps: number }>('train', '--dataset', job.dataset_id, '--model', 'mine', '--dry-run')
    assert.ok(dry.steps > 0)

    const ask = ['complete', 'Who?', '--model', job.model_name ?? '']
    const [typed] = await json<[{ n: number }]>(...ask, '--type', '{"n": "int"}')
    assert.ok(Number.isInteger(typed?.n))
    const fromInput = await anneal(['complete', '-', '--model', connection().baseModel, '--max-tokens', '4'], {
      input: 'Who?',
    })
    assert.equal(fromInput.exitCode, 0, fromInput.stderr)

    const repeated = await anneal(['cancel', id])
    assert.deepEqual(
      [repeated.exitCode, repeated.stderr.trim()],
      [1, `Job ${id} is COMPLETED and cannot be cancelled.`],
    )
  })

  test('proposes the columns of a sheet, and trains on them without its bad rows', async () => {
    const file = join(folder, 'sheet.csv')
    writeFileSync(file, 'Nr;Frage;Antwort\n1;Wo?;Hier.\n2;Wann?;\n3;Wer?;Ich.\n')
    assert.equal((await anneal(['upload', file, '--dataset', 'cli-sheet'])).exitCode, 0)
    const { stdout: proposal } = await anneal(['data', 'columns', 'cli-sheet'])
    assert.match(proposal, /^proposed: "Frage" as input, "Antwort" as output\nLINE +INPUT +OUTPUT\n2 +Wo\? +Hier\./m)
    assert.match(proposal, /--output-column 'Antwort' --input-column 'Frage'$/m)
    const columns = ['--input-column', 'Frage', '--output-column', 'Antwort']
    const train = ['train', '--dataset', 'cli-sheet', ...columns, '--skip-bad-rows', '--model', connection().baseModel]
    const { exitCode, stdout, stderr } = await anneal([...train, '--set', 'max_steps=1', '--watch'])
    assert.equal(exitCode, 0, stderr)
    assert.match(stdout, /^left out +1 bad row$/m)
    const id = /training job (\d+) accepted/i.exec(stdout)?.[1] ?? assert.fail(stdout)
    assert.equal(
      (await anneal(['job', id, '--skipped-rows'])).stdout,
      '{"line":3,"field":"Antwort","reason":"is empty"}\n',
    )
    assert.match((await anneal(['data', 'columns', 'cli-sheet', '--by-name'])).stdout, /by the names of the fields/)
  })

  test('manages data, models, webhooks and batches, and talks with a model', async () => {
    const model = connection().baseModel
    const done = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await anneal(args)
      assert.equal(exitCode, 0, `${args.join(' ')}: ${stderr}`)
      return stdout
    }
    await done('upload', sample, '--dataset', 'cli-data')
    assert.match(await done('data', 'report', 'cli-data'), /^valid: 40 rows, 0 bad/)
    assert.match(await done('data', 'versions', 'cli-data'), /^1 +valid +40 /m)
    assert.match(await done('data', 'rows', 'cli-data', '--limit', '1'), /^0 +\S/m)
    assert.match(await done('data', 'list'), /^cli-data +valid +40/m)
    assert.match(await done('data', 'delete', 'cli-data'), /Deleted cli-data/)
    assert.match(await done('models', 'list'), new RegExp(`^${model} +completion`, 'm'))
    const [webhook = ''] = (await done('webhooks', 'create', 'https://example.com/hook')).split('\n')
    assert.match(await done('webhooks', 'list'), new RegExp(`^${webhook} +enabled`, 'm'))
    await done('webhooks', 'disable', webhook)
    await done('webhooks', 'delete', webhook)
    const texts = await done('batch', 'complete', 'a', 'b', '--model', model, '--max-tokens', '2', '--wait')
    assert.equal(texts.trim().split('\n').length, 2)
    const [, batch = ''] =
      /^([0-9a-f-]{36}) .* COMPLETED +completions .* 2\/2 +0$/m.exec(await done('batch', 'list')) ?? []
    assert.match(await done('batch', 'show', batch), /COMPLETED/)
    assert.match((await anneal(['batch', 'cancel', batch])).stderr, /COMPLETED, so it cannot be cancelled/)
    assert.match(await done('chat', 'Who?', '--model', model, '--max-tokens', '4'), /\n$/)
    assert.match(await done('usage', '--by', 'model'), new RegExp(model))
    assert.match(await done('audit', '--limit', '3'), /webhook\.delete/)
  })

  test('cancels and resumes', async () => {
    const uploaded = await json<{ dataset_id: string }>('upload', sample, '--dataset', 'cli-resume')
    assert.equal(uploaded.dataset_id, 'cli-resume')
    const onIt = ['train', '--dataset', 'cli-resume', '--model', connection().baseModel]
    const job = await json<Job>(...onIt, '--set', 'max_steps=20')
    assert.equal(job.dataset_id, 'cli-resume')
    const id = String(job.job_id)
    assert.equal((await anneal(['cancel', id, '--wait'])).exitCode, 0)
    const stopped = await anneal(['job', id, '--watch'])
    assert.equal(stopped.exitCode, 1, 'a job that ended otherwise is no success')
    assert.match(stopped.stdout, /status +CANCELLED/)
    const resumed = await json<Job>('resume', id)
    assert.equal(resumed.status, 'QUEUED')
    assert.equal((await anneal(['cancel', id, '--wait'])).exitCode, 0)
  })

  test('a job that fails says why and exits with 1', async () => {
    const file = join(folder, 'bad.jsonl')
    writeFileSync(file, '{"input": "a"}\n')
    const failed = await anneal(['train', file, '--model', connection().baseModel, '--watch'])
    assert.equal(failed.exitCode, 1)
    assert.match(failed.stdout, /FAILED \(data_error\)\nmessage +.*line 1: output: is missing/)
  })

  test('refuses a model and an argument that do not exist before it uploads the file', async () => {
    const onIt = ['train', sample, '--dataset', 'cli-unsent']
    const model = await anneal([...onIt, '--model', 'nobody'])
    assert.deepEqual([model.exitCode, model.stdout], [1, ''])
    assert.match(model.stderr, /There is no model "nobody"/)
    const argument = await anneal([...onIt, '--model', connection().baseModel, '--set', 'learning_rte=1'])
    assert.deepEqual([argument.exitCode, argument.stdout], [1, ''])
    assert.match(argument.stderr, /no argument "learning_rte"\. --set takes .*learning_rate/)
    assert.doesNotMatch((await anneal(['data', 'list'])).stdout, /cli-unsent/)
  })

  test('embeds, a vector a line', async () => {
    const { stdout } = await anneal(['embed', 'a cat', 'a dog'])
    const vectors = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as number[])
    assert.deepEqual(
      vectors.map(({ length }) => length),
      [384, 384],
    )
  })

  test('exit codes tell refusals, wrong usage and an absent service apart', async () => {
    const wrongKey = await anneal(['jobs'], { env: { ...here, ANNEAL_API_KEY: 'wrong' } })
    assert.equal(wrongKey.exitCode, 1)
    assert.match(wrongKey.stderr, /invalid token/i)
    const expected: [string[], number, NodeJS.ProcessEnv?][] = [
      [['job', '2147483647'], 1],
      [['job', '../../healthz'], 1],
      [['upload', join(folder, 'absent.jsonl')], 1],
      [['jobs', '--limit', '0'], 1],
      [['job'], 2],
      [['job', '1', '2'], 2],
      [['train', sample], 2],
      [['train', '--model', 'm'], 2],
      [['train', sample, '--model', 'm', '--set', 'nonsense'], 2],
      [['complete', 'x', '--model', 'm', '--type', '{'], 2],
      [['cancel'], 2],
      [['jobs', '--nonsense'], 2],
      [['nonsense'], 2],
      [['jobs'], 2, { ...here, ANNEAL_URL: 'nonsense' }],
      [['jobs'], 3, { ...here, ANNEAL_URL: 'http://127.0.0.1:9' }],
      [['jobs', '--home', folder], 3],
    ]
    const all = await Promise.all(expected.map(([args, , env]) => anneal(args, env && { env })))
    for (const [index, ended] of all.entries()) {
      const [args, exitCode] = expected[index] ?? assert.fail()
      assert.equal(ended.exitCode, exitCode, `anneal ${args.join(' ')}: ${ended.stderr}`)
      assert.match(ended.stderr, /\S/)
      assert.doesNotMatch(ended.stderr, /\n\s+at /, 'no stack')
    }
  })
})
