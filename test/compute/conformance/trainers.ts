// The behaviour that every backend for trainers must show. The local backend, and the Kubernetes backend on the small API
// server and on the real cluster, run these tests; a backend for another scheduler calls `trainersConform` with its set-up.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ComputeError } from '../../../src/compute/errors.ts'
import type { RunRef, RunState } from '../../../src/compute/run.ts'
import type { TrainerCompute, TrainerSpec } from '../../../src/compute/trainers.ts'
import { until, patienceMs } from '../../support/eventually.ts'

type TrainerBackend = {
  compute: TrainerCompute
  /** The compute of another worker on the same machine or cluster. */
  another: TrainerCompute
  /** A run whose program is this shell script, with ANNEAL_TOKEN=`the token` as a secret. */
  run: (name: string, script: string, more?: Partial<TrainerSpec>) => TrainerSpec
  /** Until `restore`, nothing can be learned of runs. */
  cutOff: () => Promise<{ restore: () => Promise<void> }>
}

/** Ends by SIGTERM with exit code 143 after a last line. */
const waits = 'trap "echo saved; exit 143" TERM; echo ready; while :; do sleep 0.1; done'
const deaf = 'trap "" TERM; echo ready; while :; do sleep 0.1; done'

/** @param open is called for each test and cleans up after it; every test uses names of its own */
export function trainersConform(open: (t: TestContext) => TrainerBackend | Promise<TrainerBackend>): void {
  test('a run ends as its program does, keeps its end and its log, and is adopted by a repeated launch', async (t) => {
    const { compute, another, run } = await open(t)
    const name = 'ft-101-a1'
    const spec = run(name, 'echo "$ANNEAL_TOKEN" >&2; sleep 0.3; echo out; echo end; exit 65')
    const { uid, adopted } = await compute.launch(spec)
    assert(!adopted)
    const { end, states } = observe(t, compute, { name, uid })
    const ended = await end
    assert.partialDeepStrictEqual(ended, { state: 'failed', uid, reason: 'exited', exitCode: 65, signal: null })
    assert(states.every(({ state }) => state !== 'gone'))
    assert.deepEqual(states.at(-1), ended)
    assert.deepEqual(await another.probe({ name, uid }), ended)
    assert.equal((await compute.readLogs({ name }))?.text, 'the token\nout\nend\n')
    assert.equal((await compute.readLogs({ name }, { offsetBytes: -4 }))?.text, 'end\n')
    assert.deepEqual(await another.launch(spec), { uid, adopted: true })
    const terminated = await compute.terminate({ name }, { graceMs: 1_000, logTailBytes: 8 })
    assert.deepEqual(terminated, { end: ended, logTail: 'out\nend\n' })
  })

  test('a run whose program exits with 0 succeeds', async (t) => {
    const { compute, run } = await open(t)
    const { uid } = await compute.launch(run('ft-102-a1', 'exit 0'))
    assert.deepEqual(await observe(t, compute, { name: 'ft-102-a1' }).end, { state: 'succeeded', uid })
  })

  test('launches of a name at the same time start one program', async (t) => {
    const { compute, another, run } = await open(t)
    const name = 'ft-103-a1'
    const launch = (worker: TrainerCompute) => worker.launch(run(name, 'echo started; exit 0'))
    const launched = await Promise.all([compute, another, compute, another].map(launch))
    assert.equal(new Set(launched.map(({ uid }) => uid)).size, 1)
    assert.equal(launched.filter(({ adopted }) => !adopted).length, 1)
    assert.equal((await observe(t, compute, { name }).end).state, 'succeeded')
    assert.equal((await compute.readLogs({ name }))?.text, 'started\n')
  })

  test('terminate sends SIGTERM first, and returns the exit code and the last lines', async (t) => {
    const { compute, another, run } = await open(t)
    const name = 'ft-104-a1'
    const { uid } = await compute.launch(run(name, waits))
    await untilReady(t, compute, name)
    const { end, logTail } = await another.terminate({ name }, { graceMs: 10_000, logTailBytes: 100 })
    assert.partialDeepStrictEqual(end, { state: 'failed', uid, reason: 'killed', exitCode: 143 })
    assert.equal(logTail, 'ready\nsaved\n')
    await compute.terminate({ name }, { graceMs: 0 })
    assert.notEqual((await compute.probe({ name })).state, 'running')
  })

  test('terminate kills a program that ignores SIGTERM after the grace', async (t) => {
    const { compute, run } = await open(t)
    const name = 'ft-105-a1'
    await compute.launch(run(name, deaf))
    await untilReady(t, compute, name)
    const { end } = await compute.terminate({ name }, { graceMs: 1_000 })
    assert.partialDeepStrictEqual(end, { state: 'failed', reason: 'killed', exitCode: 137, signal: 'SIGKILL' })
  })

  test('a run that was terminated before its launch never runs', async (t) => {
    const { compute, run } = await open(t)
    const name = 'ft-106-a1'
    await compute.terminate({ name }, { graceMs: 0 })
    const launched = await compute.launch(run(name, 'echo started; exit 0')).catch((error: unknown) => error)
    if (launched instanceof ComputeError) assert.equal(launched.code, 'invalid')
    else assert.partialDeepStrictEqual(await observe(t, compute, { name }).end, { state: 'failed', reason: 'killed' })
    assert.equal((await compute.readLogs({ name }))?.text ?? '', '')
  })

  test('another run of the name is gone to probe and watch, and terminate leaves it alone', async (t) => {
    const { compute, run } = await open(t)
    const name = 'ft-107-a1'
    await compute.launch(run(name, waits))
    await untilReady(t, compute, name)
    const other = { name, uid: 'another' }
    assert.deepEqual(await compute.probe(other), { state: 'gone' })
    assert.deepEqual(await compute.watch(other, { signal: t.signal }), { state: 'gone' })
    assert.deepEqual(await compute.terminate(other, { graceMs: 0 }), { end: { state: 'gone' }, logTail: null })
    assert.equal((await compute.probe({ name })).state, 'running')
  })

  test('a watch that is aborted rejects, and the run goes on', async (t) => {
    const { compute, run } = await open(t)
    const name = 'ft-108-a1'
    await compute.launch(run(name, waits))
    await untilReady(t, compute, name)
    const stop = new AbortController()
    const onState = () => stop.abort(new Error('shutting down'))
    await assert.rejects(compute.watch({ name }, { signal: stop.signal, onState }), /shutting down/)
    assert.equal((await compute.probe({ name })).state, 'running')
  })

  test('list selects by label and shows states; removeEndedRuns forgets ended runs only', async (t) => {
    const { compute, run } = await open(t)
    const [ended, living] = ['ft-109-a1', 'ft-110-a1']
    await compute.launch(run(ended, 'exit 0', { labels: { job: '109' } }))
    await compute.launch(run(living, waits, { labels: { job: '110' } }))
    await observe(t, compute, { name: ended }).end
    await untilReady(t, compute, living)
    const listed = async (labels?: Record<string, string>) =>
      (await compute.list(labels)).map(({ name, labels: { job }, state }) => [name, job, state.state])
    assert.deepEqual(await listed({ job: '109' }), [[ended, '109', 'succeeded']])
    assert.deepEqual(await listed({ job: '110' }), [[living, '110', 'running']])
    assert.deepEqual(await compute.removeEndedRuns({ endedForMs: 3_600_000 }), [])
    await until('it is removed', async () => (await compute.removeEndedRuns({ endedForMs: 0 })).includes(ended))
    await until('it is forgotten', async () => (await listed({ job: '109' })).length === 0)
    assert.deepEqual(await listed({ job: '110' }), [[living, '110', 'running']])
  })

  test('a silent backend is reported as unreachable, and its events once it answers', async (t) => {
    const { compute, run, cutOff } = await open(t)
    // On a busy machine a short run is over before the backend is cut off.
    for (const seconds of [3, 30, 300]) {
      const name = `ft-111-a${seconds}`
      await compute.launch(run(name, `echo ready; sleep ${seconds}; exit 3`))
      const { end, states } = observe(t, compute, { name })
      const was = (...names: RunState['state'][]) => states.some(({ state }) => names.includes(state))
      await until('it runs', () => was('running', 'failed'))
      const { restore } = await cutOff()
      await until('it is unreachable or over', () => was('unreachable', 'failed')).finally(restore)
      assert.partialDeepStrictEqual(await end, { state: 'failed', exitCode: 3 })
      assert(!was('gone'))
      if (was('unreachable')) return
    }
    assert.fail('Each run was over before the backend was cut off.')
  })

  test('a name that is no DNS label is refused by every verb', async (t) => {
    const { compute, run } = await open(t)
    const name = '../escape'
    const invalid = { code: 'invalid' }
    await assert.rejects(compute.launch(run(name, '')), invalid)
    await assert.rejects(compute.probe({ name }), invalid)
    await assert.rejects(compute.watch({ name }, { signal: t.signal }), invalid)
    await assert.rejects(compute.readLogs({ name }), invalid)
    await assert.rejects(compute.terminate({ name }, { graceMs: 0 }), invalid)
  })
}

function observe(t: TestContext, compute: TrainerCompute, run: RunRef) {
  const states: RunState[] = []
  const signal = AbortSignal.any([t.signal, AbortSignal.timeout(patienceMs)])
  const end = compute.watch(run, { signal, onState: (state) => void states.push(state) })
  end.catch(() => undefined)
  return { states, end }
}

async function untilReady(t: TestContext, compute: TrainerCompute, name: string): Promise<void> {
  const { states } = observe(t, compute, { name })
  await until('it runs', () => states.some(({ state }) => state === 'running'))
  await until('it is ready', async () => (await compute.readLogs({ name }))?.text.startsWith('ready\n') ?? false)
}
