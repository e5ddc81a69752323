// What the pages compute, without a browser.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bestStep,
  mergeMetrics,
  plannedEnd,
  readZoom,
  secondsAt,
  smooth,
  sparkPath,
  toCsv,
  writeZoom,
  type Metric,
} from '../../console/src/domain/curve.ts'
import { trainingMethods } from '../../src/domain/method-table.ts'
import { sharesOf, withSets } from '../../console/src/domain/data-set-mix.ts'
import {
  commandsOf,
  emptyForm,
  formOf,
  methodsOfRows,
  requestOf,
  withMethod,
  type MethodName,
} from '../../console/src/domain/job-form.ts'
import { outputType, readSetup, writeSetup } from '../../console/src/domain/playground.ts'
import { bestAndWorst } from '../../console/src/domain/rollouts.ts'
import { createEventParser } from '../../console/src/domain/event-stream.ts'
import { age, bytes, duration, money, parameters, parseTime } from '../../console/src/domain/format.ts'
import { descendantsOf, lifetimesUntil } from '../../console/src/domain/key-life.ts'
import { partsOf, runsOf, stays, type Attempt } from '../../console/src/domain/history.ts'
import {
  isFiltered,
  isOpen,
  mergeHead,
  noFilter,
  ordinal,
  queryOf,
  readFilter,
  readSelection,
  sentenceOf,
  statuses,
  withNewer,
  writeFilter,
  writeSelection,
  type JobFilter,
} from '../../console/src/domain/job-list.ts'
import { difference } from '../../console/src/domain/text-diff.ts'
import { openStatuses, trainingJobStatuses } from '../../src/domain/training-job-status.ts'

const metric = (step: number, more: Partial<Metric> = {}): Metric => ({ step, loss: 1 / step, ...more })

test('knows the states of the service, and which of them are open', () => {
  assert.deepEqual([...statuses].toSorted(), [...trainingJobStatuses].toSorted())
  for (const status of trainingJobStatuses) assert.equal(isOpen(status), openStatuses.includes(status), status)
})

test('times of the API are UTC', () => {
  assert.equal(parseTime('2026-11-20T10:00:00.123456').toISOString(), '2026-11-20T10:00:00.123Z')
  assert.equal(parseTime('2026-11-20T10:00:00Z').toISOString(), '2026-11-20T10:00:00.000Z')
})

test('durations, ages and sizes read well', () => {
  assert.deepEqual([0, 0.4, 59, 60, 3599, 7260, 200_000].map(duration), [
    '0 s',
    '< 1 s',
    '59 s',
    '1 min 0 s',
    '59 min 59 s',
    '2 h 1 min',
    '2 d 7 h',
  ])
  const now = new Date('2026-11-20T10:00:00Z')
  assert.deepEqual(
    ['09:59:30', '09:30:00', '01:00:00'].map((at) => age(parseTime(`2026-11-20T${at}`), now)),
    ['just now', '30 min ago', '9 h ago'],
  )
  assert.deepEqual([0, 999, 1500, 2e9].map(bytes), ['0 B', '999 B', '1.5 KB', '2.0 GB'])
  assert.deepEqual([2_164_416, 134_515_008, 8e9].map(parameters), ['2.2 M', '135 M', '8 B'])
})

test('an address holds the filter of the list, and an unknown filter reads as the default', () => {
  const filter: JobFilter = {
    ...{ group: 'failed' as const, text: 'a&b', base: 'org/m', data: 'd', by: 'k' },
    ...{ from: '2026-11-01', to: '' },
  }
  assert.deepEqual(readFilter(new URLSearchParams(writeFilter(filter)).toString()), filter)
  assert.deepEqual([...new Set(Object.values(writeFilter(readFilter(''))))], [''])
  assert.deepEqual(readFilter('show=constructor&from=yesterday'), noFilter)
  assert.deepEqual([isFiltered(noFilter), isFiltered(filter)], [false, true])
  assert.deepEqual(queryOf(noFilter), {})
  assert.deepEqual(queryOf(filter), {
    ...{ status: 'FAILED', base_model: 'org/m', dataset_id: 'd', key_id: 'k' },
    ...{ from: '2026-11-01', q: 'a&b' },
  })
  for (const selected of [new Set([7, 3]), 'all'] as const)
    assert.deepEqual(readSelection(new URLSearchParams(writeSelection(selected)).toString()), selected)
})

test('the newest page of a list replaces what it covers, and asks for a whole read when jobs between are unknown', () => {
  const jobs = (...ids: number[]) => ids.map((job_id) => ({ job_id, of: 'known' }))
  const head = (next: string | null, ...ids: number[]) => ({ jobs: jobs(...ids), next })
  const ids = (merged: { job_id: number }[] | null) => merged?.map(({ job_id: id }) => id)
  assert.deepEqual(ids(mergeHead(jobs(5, 4, 3, 2), head('x', 6, 5, 4))), [6, 5, 4, 3, 2])
  assert.deepEqual(ids(mergeHead(jobs(5, 4, 3, 2), head('x', 6, 4))), [6, 4, 3, 2], 'a job that left the filter')
  assert.deepEqual(ids(mergeHead(jobs(5, 4), head(null, 5))), [5])
  assert.equal(mergeHead(jobs(5, 4), head('x', 9, 8, 7)), null)
  const known = jobs(2, 1)
  assert.equal(withNewer(known, jobs(3)), known)
  assert.deepEqual(withNewer(known, [{ job_id: 1, of: 'newer' }])[1], { job_id: 1, of: 'newer' })
})

test('a row says why its job waits or ended', () => {
  const job = { status: 'QUEUED', status_reason: null, status_message: null, queue: null }
  const queued = (place: number | null) => ({ ...job, queue: { place, message: 'No node has room.' } })
  assert.equal(sentenceOf(queued(93)), '93rd in the queue')
  assert.equal(sentenceOf(queued(1)), 'Next in the queue')
  assert.equal(sentenceOf(queued(null)), 'No node has room.')
  assert.equal(sentenceOf({ ...job, status: 'FAILED', status_message: 'Line 3 is bad.' }), 'Line 3 is bad.')
  assert.match(sentenceOf({ ...job, status: 'TRAINING MODEL', status_reason: 'cancelling' }) ?? '', /Being cancelled/)
  assert.deepEqual([2, 11, 1012, 22].map(ordinal), ['2nd', '11th', '1,012th', '22nd'])
})

test('steps that an attempt repeats replace those that were there', () => {
  const known = [metric(10), metric(20), metric(30)]
  assert.deepEqual(
    mergeMetrics(known, [metric(40)]).map(({ step }) => step),
    [10, 20, 30, 40],
  )
  const merged = mergeMetrics(known, [metric(20, { loss: 7 }), metric(30)])
  assert.deepEqual(
    merged.map(({ step, loss }) => [step, loss]),
    [
      [10, 0.1],
      [20, 7],
      [30, 1 / 30],
    ],
  )
})

test('a smoothed curve begins where the values begin, and keeps their gaps', () => {
  assert.deepEqual(smooth([4, null, 4], 0.9), [4, null, 4])
  assert.deepEqual(smooth([0, 1], 0.5), [0, 0.5 / 0.75])
  assert.deepEqual(smooth([3, 1], 0), [3, 1])
})

test('the best step is that of the lowest held-out loss', () => {
  assert.equal(bestStep([metric(1)]), null)
  const found = bestStep([metric(1, { valid_loss: 3 }), metric(2, { valid_loss: 1 }), metric(3, { valid_loss: 2 })])
  assert.deepEqual(found, { step: 2, value: 1 })
})

test('the axis of an open job ends where its training is planned to end', () => {
  const metrics = [metric(10, { iter_time: 2, epoch: 0.5 })]
  const end = { steps: 40, secondsLeft: 60 }
  assert.deepEqual(
    (['step', 'epoch', 'time'] as const).map((axis) => plannedEnd(axis, metrics, end)),
    [40, 2, 80],
  )
  assert.equal(plannedEnd('step', metrics, { steps: null, secondsLeft: null }), null)
  assert.equal(plannedEnd('step', metrics, { steps: 5, secondsLeft: 0 }), null, 'a plan that is overtaken says nothing')
})

test('the time of training adds up over the steps between two reports', () => {
  assert.deepEqual(secondsAt([metric(10, { iter_time: 2 }), metric(20, { iter_time: 1 })]), [20, 30])
})

test('an address holds a part of a curve, and an unknown part means the whole curve', () => {
  assert.deepEqual(readZoom(writeZoom({ min: -0.2, max: 1 / 3 })), { min: 0, max: 0.333 })
  for (const strange of [null, '', '7', '7-7', '9-7', 'a-b', '-', '1-x'])
    assert.equal(readZoom(strange), null, strange ?? '')
})

test('a CSV has every series that was reported', () => {
  assert.equal(
    toCsv([metric(1, { valid_loss: null }), metric(2, { valid_loss: 0.4 })]),
    'step,loss,valid_loss\n1,1,\n2,0.5,0.4\n',
  )
})

test('a small curve fills its box, also when it is flat', () => {
  assert.equal(sparkPath([1, 3, 2], 10, 4), '0,4 5,0 10,2')
  assert.equal(sparkPath([2, 2], 10, 4), '0,4 10,4')
})

test('the walk through the states has the time in each; an ended job stays in none', () => {
  const events = [
    ['1', '2026-11-20T10:00:00', 'status', 'CREATED'],
    ['2', '2026-11-20T10:00:05', 'note', null],
    ['3', '2026-11-20T10:00:10', 'status', 'COMPLETED'],
  ].map(([id, at, kind, status]) => ({ id, at, kind, status, message: null })) as Parameters<typeof stays>[0]
  const now = new Date('2026-11-20T11:00:00Z')
  const walk = (isOpenNow: boolean) =>
    stays(events, { now, isOpen: isOpenNow }).map(({ seconds, isNow }) => [seconds, isNow])
  assert.deepEqual(walk(false), [
    [10, false],
    [0, false],
  ])
  assert.deepEqual(walk(true)[1], [3590, true])
})

test('a resume begins another run of states', () => {
  const walk = ['CREATED', 'QUEUED', 'CANCELLED', 'QUEUED', 'COMPLETED'].map((status) => ({
    ...{ status, from: new Date(0), seconds: 0, isNow: false },
  }))
  assert.deepEqual(
    runsOf(walk).map((run) => run.map(({ status }) => status)),
    [
      ['CREATED', 'QUEUED', 'CANCELLED'],
      ['QUEUED', 'COMPLETED'],
    ],
  )
})

test('the curve leaves out steps that a later attempt has repeated', () => {
  const attempt = (number: number, from_step: number, last_step: number | null, mode = 'train') =>
    ({ attempt: number, mode, from_step, last_step, cause: null, ended_at: null }) as Attempt
  const parts = partsOf([attempt(3, 60, null, 'evaluate'), attempt(2, 20, 60), attempt(1, 0, 35)])
  assert.deepEqual(
    parts.map(({ attempt: { attempt: number }, from, to }) => [number, from, to]),
    [
      [1, 0, 20],
      [2, 20, 60],
    ],
  )
  assert.equal(partsOf([attempt(1, 0, null)], 30)[0]?.to, 30, 'an attempt that runs reaches the newest step')
})

test('answers differ in the words that only one of them has', () => {
  const marked = (text: string, other: string) =>
    difference(text, other)
      .map(({ text: piece, isSame }) => (isSame ? piece : `[${piece}]`))
      .join('')
  assert.equal(marked('It is made in Oslo.', 'It is made in Lima.'), 'It is made in [Oslo].')
  assert.equal(marked('a b c d', 'a c d'), 'a [b ]c d')
  assert.equal(marked('same', 'same'), 'same')
  assert.equal(marked('', 'x'), '')
  const long = Array.from({ length: 3000 }, (_, index) => `w${index}`).join(' ')
  assert.equal(marked(`x ${long} y`, `z ${long} q`), `[x ${long} y]`, 'long answers that differ at both ends')
})

test('events are taken apart however the network cuts them', () => {
  const text = 'id: 1\nevent: metric\ndata: {"step":\ndata: 1}\n\n: keep alive\n\nevent: end\ndata: {}\n\n'
  for (const size of [1, 7, 1000]) {
    const parse = createEventParser()
    const found = text.match(new RegExp(`[^]{1,${size}}`, 'g'))?.flatMap(parse)
    assert.deepEqual(found, [
      { id: '1', type: 'metric', data: '{"step":\n1}' },
      { id: null, type: 'end', data: '{}' },
    ])
  }
})

test('the fields of a typed answer with any names stay whole in the address', () => {
  const type = [
    { name: 'a:b, c%', type: 'str' },
    { name: 'colour', type: 'dark red|white, or so' },
  ]
  assert.deepEqual(readSetup(writeSetup({ ...readSetup(''), type })).type, type)
  assert.deepEqual(outputType(type), { 'a:b, c%': 'str', colour: ['dark red', 'white, or so'] })
  assert.deepEqual(readSetup('type=%25').type, [], 'an address that nobody has written')
  for (const [wrong, problem] of [
    [[{ name: '', type: 'str' }], /no name/],
    [[{ name: 'a', type: '' }], /no values/],
    [[type[1], type[1]], /two fields/],
  ] as const)
    assert.throws(() => outputType(wrong.flatMap((field) => field ?? [])), problem)
})

test('a new job is shown as a command, with words that a shell leaves whole', () => {
  const request = {
    ...{ model_name: 'tiny', dataset_id: 'rows', custom_model_name: "Ann's bot" },
    finetune_args: { max_steps: 60, target_modules: ['a'] },
  }
  assert.equal(
    commandsOf('/v1/train', request, 'http://here')['CLI'],
    `anneal train --dataset rows --model tiny --name 'Ann'\\''s bot' --set max_steps=60 --set 'target_modules=["a"]'`,
  )
  assert.equal(commandsOf('/v2/completions', {}, 'http://here')['CLI'], undefined)
})

test('asks for the method that the rows are of, and makes the same job again with its own hyperparameters', () => {
  const typed = { ...emptyForm, model: 'tiny', datasetId: 'pairs' }
  const methods = Object.entries(trainingMethods).map(([type, { takesRowsOf }]) => ({
    type: type as MethodName,
    takes_rows_of: takesRowsOf as readonly MethodName[],
  }))
  const ofDpo = methodsOfRows(methods, 'dpo')
  assert.deepEqual(
    [methodsOfRows(methods, 'supervised'), methodsOfRows(methods, 'kto'), ofDpo],
    [
      ['supervised', 'reinforcement'],
      ['kto', 'supervised'],
      ['dpo', 'kto'],
    ],
  )
  const ofPairs = withMethod(typed, ofDpo)
  assert.equal(withMethod(typed, undefined), typed)
  assert.deepEqual(requestOf(ofPairs).method, { type: 'dpo' })
  assert.equal(requestOf(typed).method, undefined)
  const knobs = { beta: '0.2', loss_type: 'ipo', sft_weight: ' ' }
  const request = requestOf({ ...ofPairs, knobs })
  assert.deepEqual(request.method, { type: 'dpo', dpo: { hyperparameters: { beta: 0.2, loss_type: 'ipo' } } })
  assert.equal(
    commandsOf('/v1/train', request, 'http://here')['CLI'],
    'anneal train --dataset pairs --model tiny --method dpo --set beta=0.2 --set \'loss_type="ipo"\'',
  )
  assert.equal(withMethod({ ...ofPairs, method: 'kto' }, ofDpo).method, 'kto', 'takes pairs, too')
  assert.deepEqual(withMethod({ ...ofPairs, knobs }, methodsOfRows(methods, 'supervised')), typed)

  const hyperparameters = { n_epochs: 1, batch_size: 16, learning_rate_multiplier: 1, beta: 0.2, loss_type: 'sigmoid' }
  const job = {
    ...{ base_model: 'tiny', dataset_id: 'pairs', requested_name: null, skip_bad_rows: false },
    ...{ finetune_args: {}, finetune_args_defaults: [] },
    method: { type: 'dpo' as const, dpo: { hyperparameters }, defaulted: ['loss_type'] },
    evaluation: { graders: null, max_rows: 20, max_tokens: null, as_chat: true, system: null },
    metadata: { team: 'search' },
  }
  assert.deepEqual(formOf(job).knobs, { beta: '0.2' })
  const { evaluation, metadata } = requestOf(formOf(job))
  assert.deepEqual({ evaluation, metadata }, { evaluation: { as_chat: true, max_rows: 20 }, metadata: job.metadata })
})

test('a job on several data sets is made again with all of them and their weights', () => {
  const sets = [
    { dataset_id: 'a', weight: 3 },
    { dataset_id: 'b', weight: 0.5 },
  ]
  const job = {
    ...{ base_model: 'tiny', dataset_id: 'a', requested_name: null, skip_bad_rows: false },
    ...{ finetune_args: {}, finetune_args_defaults: [] },
    method: { type: 'supervised' as const, defaulted: [] },
    datasets: sets.map((set) => ({ ...set, rows: 9, train_rows: 9, held_out_rows: 0 })),
    ...{ evaluation: null, metadata: {} },
  }
  const request = requestOf(formOf(job))
  assert.deepEqual(request, { model_name: 'tiny', datasets: sets })
  assert.equal(
    commandsOf('/v1/train', request, 'http://here')['CLI'],
    'anneal train --dataset a:3 --dataset b:0.5 --model tiny',
  )
})

test('mixes data sets by weights above 0, and shows the share of each', () => {
  const [a, b] = [
    { id: 'a', weight: '3' },
    { id: 'b', weight: '1' },
  ]
  const form = { ...emptyForm, model: 'tiny', ...withSets([a, b]) }
  assert.deepEqual(requestOf(form), {
    model_name: 'tiny',
    datasets: [
      { dataset_id: 'a', weight: 3 },
      { dataset_id: 'b', weight: 1 },
    ],
  })
  assert.deepEqual(sharesOf([a, b]), [0.75, 0.25])
  for (const weight of ['', '0', '-1', 'much', '1e999']) {
    assert.equal(sharesOf([a, { id: 'b', weight }]), null)
    assert.throws(() => requestOf({ ...form, ...withSets([a, { id: 'b', weight }]) }), /above 0 as the weight of b/)
  }
  assert.deepEqual(requestOf({ ...form, ...withSets([b]) }), { model_name: 'tiny', dataset_id: 'b' })
})

test('offers only lifetimes that end before the maker of the key', () => {
  const now = new Date('2026-11-27T10:00:00Z')
  const daysLater = (days: number) => new Date(now.getTime() + days * 86_400_000)
  assert.deepEqual(lifetimesUntil(null, now), ['never', 'in a week', 'in 90 days', 'in a year'])
  assert.deepEqual(lifetimesUntil(daysLater(0.5), now), ['never'])
  assert.deepEqual(lifetimesUntil(daysLater(30), now), ['never', 'in a week'])
})

test('finds the valid keys that a key made, also through a revoked key', () => {
  const key = (id: string, maker: string | null, revoked: string | null = null) => ({
    id,
    maker_key_id: maker,
    revoked_at: revoked,
    expires_at: null,
  })
  const keys = [key('a', null), key('b', 'a', '2026-11-27T09:00:00'), key('c', 'b'), key('d', 'c'), key('e', null)]
  const found = descendantsOf('a', keys, new Date('2026-11-27T10:00:00Z'))
  assert.deepEqual(
    found.map(({ id }) => id),
    ['c', 'd'],
  )
})

test('an amount reads in its currency, and below a cent in its own digits', () => {
  assert.deepEqual(
    [12_340_000, 0, 1200].map((micros) => money(micros, 'EUR')),
    ['€12.34', '€0.00', '€0.0012'],
  )
})

test('the best and the worst answers of a step stand apart, and those without a score', () => {
  const sample = (index: number, reward: number | null) => ({
    ...{ index, reward, text: `a${index}`, tokens: 1, finish_reason: 'stop', grades: {}, error: null, advantage: null },
  })
  const place = { dataset_id: null, line: null }
  const groups = [
    { row: 0, ...place, prompt: 'Who?', item: {}, samples: [sample(0, 0.5), sample(1, 1), sample(2, null)] },
    { row: 1, ...place, prompt: [{ role: 'user', content: 'Why?' }], item: {}, samples: [sample(0, 0)] },
  ]
  const { best, worst, unscored } = bestAndWorst(groups, 2)
  const told = (samples: typeof best) => samples.map(({ row, index, prompt }) => [row, index, prompt])
  assert.deepEqual(told(best), [
    [0, 1, 'Who?'],
    [0, 0, 'Who?'],
  ])
  assert.deepEqual([told(worst), told(unscored)], [[[1, 0, 'Why?']], [[0, 2, 'Who?']]])
})
