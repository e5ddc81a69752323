// The eyes of the fault suite see what they are there for.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { stateAt, wrongCauses, wrongRecords, type Attempt, type JobEvent } from './records.ts'
import { progressOf, observationOf, wrongIn, type JobAnswer, type Observation, type Status } from './observations.ts'

const nothing = { cancelAcknowledged: false, resumeSent: false }
const steps = (...numbers: number[]) => JSON.stringify(numbers.map((step) => ({ step, loss: 1 / step })))

function seen(status: Status, more: Partial<JobAnswer> = {}): Observation {
  const model_name = status === 'COMPLETED' ? 'a'.repeat(64) : null
  const answer = { status, status_reason: null, status_message: null, resume_count: 0, resume_limit: 5, model_name }
  return observationOf({ ...answer, history: '[]', ...more }, 0)
}

const wrong = (before: Observation | null, now: Observation, asked = nothing, losses = new Map<number, number>()) =>
  wrongIn(before, now, asked, losses)

suite('the observed states of a job', () => {
  test('is right along the table, also where statuses were missed', () => {
    assert.deepEqual(wrong(null, seen('CREATED')), [])
    assert.deepEqual(wrong(seen('CREATED'), seen('COMPLETED')), [])
    assert.deepEqual(wrong(seen('EVALUATING MODEL'), seen('LOADING DATA', { resume_count: 1 })), [])
  })

  test('is wrong off the table', () => {
    assert.match(wrong(seen('QUEUED'), seen('CREATED'))[0] ?? '', /^2: it went from QUEUED to CREATED/)
    assert.match(wrong(seen('CANCELLED'), seen('QUEUED'))[0] ?? '', /^2/)
    assert.deepEqual(wrong(seen('CANCELLED'), seen('QUEUED'), { ...nothing, resumeSent: true }), [])
  })

  test('never changes after an end, nor ends otherwise than a cancel that was acknowledged', () => {
    const changed = wrong(seen('FAILED'), seen('FAILED', { status_message: 'other' }))
    assert.match(changed[0] ?? '', /^2: it changed after its end/)
    const counted = (rows: number | null, train_rows: number | null) =>
      seen('CANCELLED', { dataset: { rows, train_rows } })
    assert.match(wrong(counted(40, 30), counted(41, 30))[0] ?? '', /^2: it changed after its end/)
    assert.deepEqual(wrong(counted(null, null), counted(40, null)), [], 'its data set was checked later')
    const cancelled = { ...nothing, cancelAcknowledged: true }
    assert.match(wrong(null, seen('COMPLETED'), cancelled)[0] ?? '', /^2: its cancel was acknowledged/)
    assert.deepEqual(wrong(null, seen('CANCELLED'), cancelled), [])
  })

  test('has a history without gap, repeat or step backwards, with the losses of other runs', () => {
    const losses = new Map<number, number>()
    assert.deepEqual(wrong(null, seen('TRAINING MODEL', { history: steps(10, 20, 30) }), nothing, losses), [])
    for (const history of [steps(10, 30), steps(10, 10), steps(20), steps(10, 20, 15)])
      assert.match(wrong(null, seen('TRAINING MODEL', { history }), nothing, losses)[0] ?? '', /^7: step/)
    const other = JSON.stringify([{ step: 10, loss: 0.5 }])
    assert.match(wrong(null, seen('TRAINING MODEL', { history: other }), nothing, losses)[0] ?? '', /^7: the loss/)
  })

  test('counts resumes forward and within the limit, and is complete only with a model', () => {
    assert.match(wrong(null, seen('QUEUED', { resume_count: 6 }))[0] ?? '', /^7/)
    assert.match(wrong(seen('QUEUED', { resume_count: 2 }), seen('QUEUED', { resume_count: 1 }))[0] ?? '', /^7/)
    assert.match(wrong(null, seen('COMPLETED', { model_name: null }))[0] ?? '', /^5/)
  })

  test('grows with each step and status', () => {
    const along = [
      ...[seen('QUEUED'), seen('TRAINING MODEL'), seen('TRAINING MODEL', { history: steps(10) })],
      ...[seen('SAVING MODEL'), seen('COMPLETED')],
    ].map(progressOf)
    assert.deepEqual(
      along,
      along.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(along).size, along.length)
  })
})

suite('the record of an ended job', () => {
  const at = (second: number) => `2026-11-20T10:00:${String(second).padStart(2, '0')}.000000`
  const moved = (second: number, status: Status): JobEvent => ({ at: at(second), kind: 'status', status, reason: null })
  const attempt = (number: number, second: number, cause: string | null): Attempt => ({
    attempt: number,
    mode: 'train',
    cause,
    message: null,
    from_step: 0,
    created_at: at(second),
    ended_at: cause === null ? null : at(second + 1),
  })
  const walk: Status[] = ['LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL', 'COMPLETED']
  const events = [
    ...[moved(0, 'CREATED'), moved(1, 'QUEUED'), moved(2, 'LOADING DATA'), moved(3, 'QUEUED')],
    ...walk.map((status, index) => moved(4 + index, status)),
  ]
  const attempts = [attempt(1, 1, 'killed'), attempt(2, 3, 'finished')]
  const end = seen('COMPLETED', { resume_count: 1 })

  test('is right for a job that was killed once', () => {
    assert.deepEqual(wrongRecords(end, { events, attempts }, 0), [])
    assert.equal(stateAt({ events, attempts }, Date.parse(`${at(4)}Z`) + 500), 'LOADING DATA')
    assert.equal(stateAt({ events, attempts }, Date.parse(`${at(30)}Z`)), null)
  })

  test('is wrong with a move off the table, an open attempt, a wrong count, an unsent resume', () => {
    const jump = events.filter(({ status }) => status !== 'SAVING MODEL')
    assert.match(wrongRecords(end, { events: jump, attempts }, 0)[0] ?? '', /^2/)
    const open = [...attempts, attempt(3, 5, null)]
    assert.ok(wrongRecords(end, { events, attempts: open }, 0).some((text) => /^6: attempt 3/.test(text)))
    assert.match(wrongRecords(seen('COMPLETED'), { events, attempts }, 0)[0] ?? '', /^7: it counts 0/)
    const resumed = [...events, { at: at(9), kind: 'command', status: null, reason: 'resume' }]
    assert.ok(wrongRecords(end, { events: resumed, attempts }, 0).some((text) => /^1: 0 resumes/.test(text)))
  })

  test('is wrong with a cause that nothing explains', () => {
    const atMs = Date.parse(`${at(1)}Z`) + 500
    const causes = (cause: string, ...faults: string[]) =>
      wrongCauses(
        { events, attempts: [attempt(1, 1, cause), attempt(2, 3, 'finished')] },
        faults.map((fault) => ({ fault, atMs, overMs: atMs, isOfOneJob: true })),
      )
    assert.deepEqual(causes('killed', 'kill trainer'), [])
    assert.match(causes('killed', 'kill api')[0] ?? '', /^8: attempt 1 ended as killed .*; what met it: kill api/)
    assert.deepEqual(causes('stalled', 'hung trainer'), [])
    assert.match(causes('stalled', 'stop api')[0] ?? '', /^8/)
    assert.match(causes('code_error')[0] ?? '', /what met it: nothing/)
    assert.deepEqual(causes('code_error', 'full disk'), [])
    const second = { events, attempts: [attempt(1, 1, 'killed'), attempt(2, 3, 'code_error')] }
    const disk = { fault: 'full disk', atMs, isOfOneJob: false }
    const trainer = { fault: 'kill trainer', atMs, overMs: atMs, isOfOneJob: true }
    assert.deepEqual(wrongCauses(second, [trainer, { ...disk, overMs: atMs + 2000 }]), [])
    assert.match(wrongCauses(second, [trainer, { ...disk, overMs: atMs }])[0] ?? '', /^8: attempt 2/)
    const cancelled = [...events, moved(9, 'CANCELLED')]
    for (const cause of ['killed', 'cancelled'])
      assert.deepEqual(wrongCauses({ events: cancelled, attempts: [attempt(1, 1, cause)] }, []), [])
    assert.match(causes('cancelled')[0] ?? '', /what met it: nothing/)
  })
})
