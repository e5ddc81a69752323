// An alias that moves again and again while 50 requests a second name it.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openAccount } from '../support/stack.ts'

type Chat = { model: string; choices: { message: { content: string } }[] }
type Answer = { status: number; body: Chat }

const content = 'Which colour is the Tundra Backpack?'
const requestsPerSecond = 50
const seconds = 20
const moveEveryMs = 250

suite('an alias', async () => {
  const api = await openAccount()

  async function tune(output: string): Promise<string> {
    const id = await api.train({
      custom_model_name: 'loaded',
      data: [{ input: `Question: ${content}\nAnswer: `, output }],
      finetune_args: { max_steps: 30, learning_rate: 0.005 },
    })
    return (await api.untilStatus(id, 'COMPLETED')).model_name ?? assert.fail('no model')
  }
  const chat = (model: string): Promise<Answer> =>
    api.request('POST', '/openai/v1/chat/completions', {
      ...{ model, max_tokens: 4, temperature: 0 },
      messages: [{ role: 'user', content }],
    })
  const textOf = ({ body }: Answer) => body.choices[0]?.message.content
  const move = (version: number) => api.request('PUT', '/v1/models/loaded/aliases/production', { version })

  test(`moves under ${requestsPerSecond} requests a second: none fails, and none gets a third model`, async (t) => {
    const [one, two, newest] = [await tune('red'), await tune('blue'), await tune('green')]
    const texts = new Map<string, string | undefined>()
    for (const model of [one, two, newest]) texts.set(model, textOf(await chat(model)))
    assert.equal(new Set(texts.values()).size, 3, 'the models answer differently')
    assert.equal((await move(1)).status, 200)

    const startedAt = performance.now()
    const isOver = () => performance.now() - startedAt > seconds * 1000
    const asked: Promise<Answer>[] = []
    let [open, mostOpen] = [0, 0]
    /** Asks at the rate, however many answers are still out. */
    async function askOn() {
      while (!isOver()) {
        const due = ((performance.now() - startedAt) / 1000) * requestsPerSecond
        for (; asked.length < due; open++) asked.push(chat('loaded@production').finally(() => open--))
        mostOpen = Math.max(mostOpen, open)
        await sleep(5)
      }
    }
    let moves = 0
    async function moveOn() {
      for (; !isOver(); moves++) {
        assert.equal((await move(1 + ((moves + 1) % 2))).status, 200)
        await sleep(moveEveryMs)
      }
    }
    await Promise.all([askOn(), moveOn()])
    const answers = await Promise.all(asked)
    const tookSeconds = (performance.now() - startedAt) / 1000

    assert.deepEqual(
      answers.filter(({ status }) => status !== 200),
      [],
    )
    const counts = [one, two].map((model) => answers.filter(({ body }) => body.model === model).length)
    assert.equal((counts[0] ?? 0) + (counts[1] ?? 0), answers.length, 'no third model answers')
    for (const answer of answers)
      assert.equal(textOf(answer), texts.get(answer.body.model), 'a model answers as itself')
    assert.ok(counts.every((count) => count > 0))
    t.diagnostic(
      `${answers.length} requests in ${tookSeconds.toFixed(1)} s, at most ${mostOpen} at once; ${moves} moves; ` +
        `${counts[0]} answers of version 1, ${counts[1]} of version 2, none of version 3`,
    )
  })
})
