import { createInterface } from 'node:readline'
import { UsageError } from './usage-error.ts'
import { CommandError } from './command-error.ts'
import type { Client } from './remote/client.ts'
import { serviceCommand } from './remote/remote-command.ts'

type Message = { role: 'system' | 'user' | 'assistant'; content: string }
type Piece = { choices?: { delta?: { content?: string | null } }[]; error?: { message: string } }

const path = '/openai/v1/chat/completions'

export const chat = serviceCommand({
  usage: `[TEXT] --model NAME [--system TEXT] [--max-tokens N] [--temperature T]

  TEXT            one question; without TEXT, each line of standard input is the next message of a conversation
  --model NAME    a base or tuned model
  --system TEXT   the system message
  --max-tokens N  limit of the tokens of an answer
  --temperature T 0 always takes the likeliest token`,
  options: {
    model: { type: 'string' },
    system: { type: 'string' },
    'max-tokens': { type: 'string' },
    temperature: { type: 'string' },
  },
  takes: { least: 0, most: 1 },
  async run({ client, positionals: [text], values, print, signal }) {
    const { model, system, temperature, json } = values
    if (model === undefined) throw new UsageError('--model is missing.')
    const request = {
      model,
      ...(values['max-tokens'] !== undefined && { max_tokens: number('--max-tokens', values['max-tokens']) }),
      ...(temperature !== undefined && { temperature: number('--temperature', temperature) }),
    }
    const messages: Message[] = system === undefined ? [] : [{ role: 'system', content: system }]
    if (json) {
      if (text === undefined) throw new UsageError('Give the text: --output json answers one question.')
      const content = { ...request, messages: [...messages, { role: 'user', content: text }] }
      print(await client.post(path, content), () => '')
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
    return 0
  },
})

/** Writes the answer as it comes. @returns the whole of it */
async function answer(client: Client, request: object): Promise<string> {
  let [whole, rest] = ['', '']
  for await (const chunk of client.stream(path, { ...request, stream: true })) {
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

function number(option: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || Number.isNaN(value)) throw new UsageError(`${option} takes a number, not "${text}".`)
  return value
}
