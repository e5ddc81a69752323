import { chatFields, chatOptions } from './remote/chat-options.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { textsFrom } from './remote/stdin.ts'
import { UsageError } from './usage-error.ts'

export const command = serviceVerb({
  takes: { 'PROMPT...': 'a text; - reads one from standard input' },
  options: {
    model: {
      value: 'NAME',
      says: 'a base model, or any name of a tuned model, such as support-bot@production',
      required: true,
    },
    ...chatOptions,
    type: { value: 'JSON', says: `typed output, such as '{"city": "str", "stock": "int"}'` },
    'max-tokens': { value: 'N', says: 'limit of the tokens of an answer (256 by default)' },
    temperature: { value: 'T', says: '0, the default, always takes the likeliest token' },
  },
  async run({ client, args, values, print }) {
    const answered = await client.post('/v1/completions', {
      body: {
        ...chatFields(values),
        model_name: values.model,
        prompt: await textsFrom(args),
        output_type: json('--type', values.type),
        max_tokens: json('--max-tokens', values['max-tokens']),
        temperature: json('--temperature', values.temperature),
      },
    })
    const answers = [answered].flat()
    print(answers, () =>
      answers
        .map((answer) => (values.type === undefined ? String(answer['output']) : JSON.stringify(answer)))
        .join('\n'),
    )
  },
})

function json(option: string, text: string | undefined): unknown {
  if (text === undefined) return null
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${option} takes JSON, not "${text}".`)
  }
}
