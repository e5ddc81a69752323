import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { noAnswer, readAnswer, type Answer } from '../accounts.ts'
import type { Attack, Attacker } from '../attack.ts'
import { completion } from '../probes.ts'
import { pause, untilTold } from './connections.ts'

const bodies = 32
const bodyBytes = 60e6
const trickles = 8
const chunk = Buffer.alloc(256 * 1024, 'a')

export const unfinishedBodies: Attack = {
  name: 'unfinished-bodies',
  what: '32 connections send a body of 60 MB up to its last byte and wait; eight more send a byte a second',
  // Together the bodies have 1,920 MB.
  maxGrowthMb: { api: 800 },
  seconds: 30,
  probes: (stage) => [completion(stage)],
  async run(attacker) {
    const begun = [
      ...Array.from({ length: bodies }, () => sendAllButOneByte(attacker)),
      ...Array.from({ length: trickles }, () => sendSlowly(attacker)),
    ]
    attacker.underway()
    for (const answer of await Promise.all(begun)) attacker.count(answer)
  },
}

type Sending = { write: (bytes: Buffer) => Promise<void>; isOver: () => boolean }

async function sendAllButOneByte(attacker: Attacker): Promise<Answer> {
  return withUnfinishedBody(attacker, async ({ write, isOver }) => {
    for (let left = bodyBytes - 1; left > 0 && !isOver(); left -= chunk.length)
      await write(left < chunk.length ? chunk.subarray(0, left) : chunk)
  })
}

async function sendSlowly(attacker: Attacker): Promise<Answer> {
  return withUnfinishedBody(attacker, async ({ write, isOver }) => {
    for (; !isOver(); await pause(1000, attacker.signal)) await write(chunk.subarray(0, 1))
  })
}

/** Keeps the request open until it is answered or the attack ends. @returns the answer, `given_up` when none had come */
async function withUnfinishedBody(
  { apiUrl, apiKey, signal }: Attacker,
  send: (sending: Sending) => Promise<void>,
): Promise<Answer> {
  const outgoing = request(`${apiUrl}/v1/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'content-length': String(bodyBytes),
    },
  })
  let isAnswered = false
  const answered = new Promise<Answer>((resolve) => {
    outgoing.once('response', (response) => {
      isAnswered = true
      const { statusCode = 0, headers } = response
      text(response).then(
        (body) => resolve(readAnswer(statusCode, headers['retry-after'] ?? null, body)),
        () => resolve(noAnswer('no_answer', 'The connection ended within the answer.')),
      )
    })
    outgoing.on('error', (error) => isAnswered || resolve(noAnswer('no_answer', error.message)))
  })
  const isOver = () => isAnswered || signal.aborted || outgoing.destroyed
  let wake = () => {}
  for (const event of ['drain', 'close', 'response']) outgoing.on(event, () => wake())
  signal.addEventListener('abort', () => wake())
  const write = (bytes: Buffer) =>
    new Promise<void>((resolve) => {
      wake = resolve
      if (outgoing.write(bytes)) resolve()
    })
  await send({ write, isOver })
  const answer = await Promise.race([answered, untilTold(signal).then(() => noAnswer('given_up'))])
  outgoing.destroy()
  return answer
}
