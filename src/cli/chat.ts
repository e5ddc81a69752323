import { createInterface } from 'node:readline'
import { CommandError } from './command-error.ts'
import type { Client } from './remote/client.ts'
import type { Request } from './remote/operations.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { UsageError } from './usage-error.ts'

type Message = { role: 'system' | 'user' | 'assistant'; content: string }
/** An event of a stream, whose type the routes do not tell. */
type Piece = { choices?: { delta?: { content?: string | null } }[]; error?: { message: string } }

const path = '/openai/v1/chat/completions'
type Question = NonNullable<Request<'post', typeof path>['body']>

export const command = serviceVerb({
  takes: {
    '[TEXT]': 'one question; without TEXT, each line of standard input is the next message of a conversation',
  },
  options: {
    model: { value: 'NAME', says: 'a base or tuned model', required: true },
    system: { value: 'TEXT', says: 'the system message' },
    'max-tokens': { value: 'N', says: 'limit of the tokens of an answer' },
    temperature: { value: 'T', says: '0 always takes the likeliest token' },
  },
  async run({ client, args: [text], values, isJson, print, signal }) {
    const { model, system, temperature } = values
    const request = {
      model,
      max_tokens: number('--max-tokens', values['max-tokens']),
      temperature: number('--temperature', temperature),
    }
    const messages: Message[] = system === undefined ? [] : [{ role: 'system', content: system }]
    if (isJson) {
      if (text === undefined) throw new UsageError('Give the text: --output json answers one question.')
      const body = { ...request, messages: [...messages, { role: 'user', content: text }] }
      print(await client.post(path, { body }), () => '')
      return 0
    }
    const isTerminal = process.stdin.isTTY && process.stdout.isTTY
    const lines =
      text === undefined
        ? createInterface({ input: process.stdin, ...(isTerminal && { output: process.stdout }), signal })
        : null
    if (isTerminal) lines?.prompt()
    for await (const content of lines ?? [text ?? '']) {
      messages.push({ role: 'user', content })
      messages.push({ role: 'assistant', content: await answer(client, { ...request, messages }) })
      if (isTerminal) lines?.prompt()
    }
  },
})

/** Writes the answer as it comes. @returns the whole of it */
async function answer(client: Client, request: Question): Promise<string> {
  let [whole, rest] = ['', '']
  for await (const chunk of client.stream(path, { body: { ...request, stream: true } })) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data === undefined || data === '[DONE]') continue
      const { choices: [choice] = [], error } = JSON.parse(data) as Piece
      if (error) throw new CommandError(error.message)
      const text = choice?.delta?.content ?? ''
      process.stdout.write(text)
      whole += text
    }
  }
  process.stdout.write('\n')
  return whole
}

function number(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || Number.isNaN(value)) throw new UsageError(`${option} takes a number, not "${text}".`)
  return value
}
