// Grades of samples on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { FineTuningGrader } from '../../../src/domain/fine-tuning-grader.ts'
import { sha256 } from '../../../src/domain/identifiers.ts'
import { ServiceError } from '../../../src/domain/service-error.ts'
import type { TrainingSpec } from '../../../src/domain/training-job.ts'
import { createGrading } from '../../../src/grading/grading-threads.ts'
import type { Repositories } from '../../../src/repositories/database.ts'
import { commitArtifact, createArtifact } from '../../../src/services/attempt-api/artifacts.ts'
import { claimAttempt } from '../../../src/services/attempt-api/claim.ts'
import { gradeSamplesOfStep } from '../../../src/services/attempt-api/grade.ts'
import type { PodCtx } from '../../../src/services/context.ts'
import { anAccount, openJob } from '../../support/job-rows.ts'
import { createSandbox, openDatabase } from '../../support/sandbox.ts'
import { contextOf } from '../../support/service-context.ts'

const right = {
  ...{ type: 'string_check', name: 'right', operation: 'eq' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
}
const judged = {
  type: 'score_model',
  name: 'judge',
  model: 'm',
  input: [{ role: 'user', content: '{{item.answer}}?' }],
}
const both = { type: 'multi', calculate_output: '0.5 * right + 0.5 * judge', graders: { right, judge: judged } }

const sample = (row: number, text = 'Me', item: Record<string, unknown> = { answer: 'Me' }) => ({
  ...{ row, index: 0, text, toolCalls: null, finishReason: 'stop', tokens: 3, item },
})

type Verdict = () => string | number

/** A model that judges. @param verdict a score, or the sentence of a refusal */
function judge(verdict: Verdict) {
  const asked: string[] = []
  const ask = (lines: readonly string[]) => {
    const answers = lines.map((line) => {
      const { custom_id } = JSON.parse(line) as { custom_id: string }
      asked.push(line)
      const found = verdict()
      const body =
        typeof found === 'string'
          ? { error: { message: found } }
          : { choices: [{ message: { content: JSON.stringify({ verdict: found }) } }], usage: { total_tokens: 60 } }
      return `${JSON.stringify({ custom_id, response: { status_code: typeof found === 'string' ? 400 : 200, body } })}\n`
    })
    return Promise.resolve({ values: answers.join(''), errors: '' })
  }
  return { asked, askOf: () => ask }
}

suite('grades of samples', () => {
  const database = openDatabase()
  const sandbox = createSandbox(database)
  const grading = createGrading()

  async function aStep(tx: Repositories, grader: unknown = right, judgeTokensPerDay = 100_000) {
    const accountId = await anAccount(tx)
    const task = { grader: FineTuningGrader.parse(grader) }
    const hyperparameters = { num_iterations: 2, samples_per_prompt: 8, compute_multiplier: 2 }
    const method = { type: 'reinforcement', hyperparameters, given: [], task } as const
    const baseModel = { name: 'm', source: { kind: 'local', path: 'm' }, sha256: null }
    const { id: jobId } = await openJob(tx, accountId, { method, baseModel, args: {} } as unknown as TrainingSpec)
    const file = { key: 'k', sizeBytes: 1, sha256: 'a'.repeat(64), rowCount: 1 }
    const prepared = { train: file, evaluation: { ...file, split: 'train' as const }, sourceEtag: 'e', reader: 1 }
    await tx.trainingJobs.setPreparedData(await tx.trainingJobs.get(jobId), prepared)
    let [sampledTokens, judgeTokens] = [0, 0]
    const tokenHash = sha256(randomUUID())
    const position = { jobId, number: 1 }
    const named = { id: randomUUID(), runName: `ft-${jobId}-a1`, tokenHash }
    await tx.attempts.open({ ...named, ...position, generation: 1, ordinal: 0, accountId, mode: 'train' })
    const deps = {
      database: {
        ...tx,
        transaction: <T>(work: (tx: Repositories) => Promise<T>) => work(tx),
        modelServers: { findServed: () => Promise.resolve({ state: 'starting', message: 'The weights are fetched.' }) },
      },
      storage: {
        partBytes: 100,
        presignPodPut: (key: string) => Promise.resolve(key),
        presignPodGet: (key: string) => Promise.resolve(key),
        stat: () => Promise.resolve({ sizeBytes: 1 }),
      },
      grading,
      catalogue: { find: () => ({ name: 'm' }) },
      log: { error: () => undefined },
      limits: {
        judgeTokens: {
          perDay: judgeTokensPerDay,
          usedBy: () => Promise.resolve({ used: judgeTokens, untilMs: 7_200_000 }),
          count: async (_account: string, tokens: number) => void (judgeTokens += tokens),
        },
      },
      usage: { add: (_key: object, { completionTokens = 0 }) => void (sampledTokens += completionTokens) },
    }
    const pod = contextOf<PodCtx>({ deps, tokenHash })
    const claim = () =>
      claimAttempt({ pod, input: { claimId: 'one', runtimeVersion: '0.1.0', hostname: 'h', device: 'cpu' } })
    await claim()
    const commit = async (step: number, name: string) => {
      const input = { kind: 'rollouts' as const, step, files: [{ name, sizeBytes: 1, sha256: 'a'.repeat(64) }] }
      const { artifactId } = await createArtifact({ pod, input })
      await commitArtifact({ pod, input: { artifactId } })
      return artifactId
    }
    const grade = (samples: ReturnType<typeof sample>[], askOf = judge(() => 0.5).askOf, step = 1) =>
      gradeSamplesOfStep({ pod, input: { step, split: 'train', samples }, askOf })
    return { jobId, position, claim, commit, grade, sampledTokens: () => sampledTokens }
  }

  test('samples wait once the judges of the account have used their tokens of the day', () =>
    sandbox(async (tx) => {
      const { commit, grade } = await aStep(tx, both, 100)
      await commit(1, 'samples.jsonl')
      const { asked, askOf } = judge(() => 1)
      for (const row of [0, 1]) assert.deepEqual((await grade([sample(row)], askOf)).waiting, [])
      const { waiting, waitingFor } = await grade([sample(2)], askOf)
      assert.deepEqual(waiting, [{ row: 2, index: 0 }])
      assert.equal(
        waitingFor,
        "This account's judges have used 120 tokens, and may use 100 a day. Grading goes on in 2 hours.",
      )
      assert.equal(asked.length, 2)
    }))

  test('scores what an answer lacks as 0, and what its item lacks not at all', () =>
    sandbox(async (tx) => {
      const named = { ...right, input: '{{sample.output_json.name}}' }
      const { commit, grade } = await aStep(tx, named)
      await commit(1, 'samples.jsonl')
      const { graded, waiting } = await grade([sample(0, '{"name": "Me"}'), sample(1, 'Me'), sample(2, '{}', {})])
      assert.deepEqual(waiting, [])
      assert.deepEqual(
        graded.toSorted((a, b) => a.row - b.row).map(({ reward, grades, error }) => [reward, grades, error?.kind]),
        [
          [1, { right: 1 }, undefined],
          [0, { right: 0 }, undefined],
          [0, { right: 0 }, undefined],
        ],
      )
      const { graded: others } = await grade([sample(3, '{"name": "Me"}', {})])
      assert.deepEqual(others[0]?.error, {
        ...{ grader: 'right', kind: 'invalid_variable_error' },
        message: 'The item lacks a part: {{item.answer}} names nothing there.',
      })
      assert.equal(others[0]?.reward, null)
    }))

  test('asks a judge once for each sample, however often and how many at once ask for its grade', () =>
    sandbox(async (tx) => {
      const { commit, grade, sampledTokens } = await aStep(tx, both)
      await commit(1, 'samples.jsonl')
      const { asked, askOf } = judge(Math.random)
      const samples = Array.from({ length: 40 }, (_, row) => sample(row))
      const rewardsOf = ({ graded }: Awaited<ReturnType<typeof grade>>) =>
        graded.toSorted((a, b) => a.row - b.row).map(({ reward }) => reward)
      const [first, second] = await Promise.all([grade(samples, askOf), grade(samples, askOf)])
      const third = await grade(samples, askOf)
      assert.deepEqual([asked.length, sampledTokens()], [40, 120])
      assert.equal(new Set(rewardsOf(first)).size, 40)
      assert.deepEqual([rewardsOf(second), rewardsOf(third)], [rewardsOf(first), rewardsOf(first)])
    }))

  test('the first grade of a sample stays, also when another process has graded it meanwhile', () =>
    sandbox(async (tx) => {
      const { jobId, commit, grade } = await aStep(tx)
      await commit(1, 'samples.jsonl')
      const known = { row: 0, index: 0, reward: 0.25, grades: { right: 0.25 }, error: null }
      const askOf = () => assert.fail('a string check asks no model')
      const graded = grade([sample(0)], () => askOf)
      await tx.grades.add({ jobId, split: 'train', step: 1 }, [known])
      assert.deepEqual((await graded).graded, [known])
    }))

  test('waits for a judge that is away, and says so', () =>
    sandbox(async (tx) => {
      const { commit, grade } = await aStep(tx, judged)
      await commit(1, 'samples.jsonl')
      const away = () => () => Promise.reject(new ServiceError('unavailable', 'The model m is starting.'))
      const { graded, waiting, waitingFor } = await grade([sample(0)], away)
      assert.deepEqual([graded, waiting, waitingFor], [[], [{ row: 0, index: 0 }], 'The model m is starting.'])
      assert.equal((await grade([sample(0)])).graded[0]?.reward, 0.5)
    }))

  test('a judge that refuses a sample leaves it without a score', () =>
    sandbox(async (tx) => {
      const { commit, grade } = await aStep(tx, both)
      await commit(1, 'samples.jsonl')
      const { graded } = await grade([sample(0)], judge(() => 'The prompt is too long.').askOf)
      const error = { grader: 'judge', kind: 'model_grader_server_error', message: 'The prompt is too long.' }
      assert.deepEqual(graded, [{ row: 0, index: 0, reward: null, grades: { right: 1, judge: null }, error }])
    }))

  test('refuses samples that are not committed, and every call of a fenced attempt', () =>
    sandbox(async (tx) => {
      const { position, commit, grade } = await aStep(tx)
      await assert.rejects(grade([sample(0)]), /Commit samples\.jsonl of step 1 before its samples are graded/)
      await commit(1, 'samples.jsonl')
      await tx.attempts.fence(position)
      await assert.rejects(grade([sample(0)]), { code: 'attempt_fenced' })
    }))

  test('the first rollouts of a step are its record, and its grades go with its rewards', () =>
    sandbox(async (tx) => {
      const { jobId, position, commit, grade } = await aStep(tx)
      await commit(1, 'samples.jsonl')
      await grade([sample(0)])
      const stepOfJob = { jobId, split: 'train', step: 1 } as const
      assert.equal((await tx.grades.list(stepOfJob, [0])).length, 1)
      const first = await commit(1, 'rewards.jsonl')
      assert.deepEqual(await tx.grades.list(stepOfJob, [0]), [])
      const second = await commit(1, 'rewards.jsonl')
      assert.deepEqual(
        await Promise.all(
          [first, second].map(async (id) => (await tx.artifacts.find(jobId, id))?.committedAt !== null),
        ),
        [true, false],
      )
      assert.equal((await tx.attempts.get(position)).savedStep, null)
    }))

  test('a claim lists the rollouts that an attempt may still need, by step', () =>
    sandbox(async (tx) => {
      const { position, claim, commit } = await aStep(tx, both)
      for (const [step, name] of [
        ...([1, 3, 5, 7] as const).map((each) => [each, 'samples.jsonl'] as const),
        ...[[5, 'rewards.jsonl'] as const, [4, 'valid_samples.jsonl'] as const, [6, 'valid_samples.jsonl'] as const],
      ])
        await commit(step, name)
      await tx.attempts.update(position, {})
      const all = await claim()
      assert.deepEqual(
        all.rollouts?.map(({ step, files }) => [step, files.map(({ name }) => name)]),
        [
          ...[
            [1, ['samples.jsonl']],
            [3, ['samples.jsonl']],
            [4, ['valid_samples.jsonl']],
          ],
          ...[
            [5, ['samples.jsonl', 'rewards.jsonl']],
            [6, ['valid_samples.jsonl']],
            [7, ['samples.jsonl']],
          ],
        ],
      )
      assert.deepEqual(all.grader, { names: ['judge', 'right'], needs: ['text', 'item.answer'] })
      assert.partialDeepStrictEqual(all.method, {
        reinforcement: { hyperparameters: { samples_per_prompt: 16, num_iterations: 2 } },
      })
    }))
})
