import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createLargeAnswerTurns, createRequestTurns } from '../../../src/http/edge/request-turns.ts'
import { inTurns } from '../../../src/turns.ts'

test('a request waits for a single request of another account, however many that account has sent', async () => {
  const turn = createRequestTurns()
  const begun: string[] = []
  const ask = (account: string) => turn(account).then(() => begun.push(account))
  await Promise.all([...Array.from({ length: 5 }, () => ask('many')), ask('one')])
  assert.deepEqual(begun, ['many', 'one', 'many', 'many', 'many', 'many'])
})

test('a request that arrives between two turns waits for one of them', async () => {
  const turn = createRequestTurns()
  const begun: string[] = []
  const ask = (account: string) => turn(account).then(() => begun.push(account))
  const first = Array.from({ length: 4 }, () => ask('many'))
  setImmediate(() => void ask('late'))
  await Promise.all(first)
  assert.deepEqual(begun.slice(0, 4), ['many', 'late', 'many', 'many'])
})

test('a request waits for one piece of another account, however many files that account moves', async () => {
  const turn = createRequestTurns()
  const begun: string[] = []
  const file = Array.from({ length: 20 }, (_, piece) => String(piece))
  const move = async () => {
    for await (const piece of inTurns(Readable.from(file), () => turn('many'))) begun.push(piece)
  }
  const moving = Promise.all(Array.from({ length: 4 }, move))
  while (begun.length < 10) await new Promise(setImmediate)
  const before = begun.length
  await Promise.all([moving, turn('late').then(() => begun.push('late'))])
  assert.equal(begun.indexOf('late') <= before + 1, true, begun.join())
  assert.equal(begun.length, 4 * file.length + 1)
})

test('an account reads one large answer at a time, and another account reads beside it', async () => {
  const inTurn = createLargeAnswerTurns()
  const open = Promise.withResolvers<string>()
  const begun: string[] = []
  const read = (account: string, answer: () => Promise<string> | string) =>
    inTurn(account, () => {
      begun.push(account)
      return answer()
    })
  const first = read('many', () => open.promise)
  const failing = read('many', () => Promise.reject(new Error('gone')))
  const third = read('many', () => 'third')
  assert.equal(await read('one', () => 'one'), 'one')
  assert.deepEqual(begun, ['many', 'one'])
  open.resolve('first')
  assert.equal(await first, 'first')
  await assert.rejects(failing, { message: 'gone' })
  assert.equal(await third, 'third')
})
