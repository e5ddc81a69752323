import { UsageError } from './usage-error.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { textsFrom } from './remote/stdin.ts'

export const complete = serviceCommand({
  usage: `PROMPT... --model NAME [--type JSON]

  PROMPT          a text; - reads one from standard input
  --model NAME    a base model, or the model_name of a completed job
  --type JSON     typed output, such as '{"city": "str", "stock": "int"}'
  --max-tokens N  limit of the tokens of an answer
  --temperature T 0 always takes the likeliest token`,
  options: {
    model: { type: 'string' },
    type: { type: 'string' },
    'max-tokens': { type: 'string' },
    temperature: { type: 'string' },
  },
  takes: { least: 1, most: 10_000 },
  async run({ client, positionals, values, print }) {
    if (values.model === undefined) throw new UsageError('--model is missing.')
    const answers = await client.post<Record<string, unknown>[]>('/v1/completions', {
      model_name: values.model,
      prompt: await textsFrom(positionals),
      output_type: values.type === undefined ? null : json('--type', values.type),
      max_tokens: values['max-tokens'] === undefined ? null : json('--max-tokens', values['max-tokens']),
      temperature: values.temperature === undefined ? null : json('--temperature', values.temperature),
    })
    const asText = (answer: Record<string, unknown>) =>
      values.type === undefined ? String(answer['output']) : JSON.stringify(answer)
    print(answers, () => answers.map(asText).join('\n'))
    return 0
  },
})

function json(option: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${option} takes JSON, not "${text}".`)
  }
}
