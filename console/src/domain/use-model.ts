// Programs that ask one model.
import { quoted } from './job-form.ts'

/** @param system the message that the model learned with, or '' */
export function programsOf(model: string, options: { isChat: boolean; system: string; origin: string }) {
  const { isChat, system, origin } = options
  const base = `${origin}/openai/v1`
  const messages = [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    { role: 'user', content: 'Your question' },
  ]
  const asked = isChat ? { messages } : { prompt: 'Your prompt', max_tokens: 256 }
  const path = isChat ? 'chat/completions' : 'completions'
  const call = isChat ? 'chat.completions' : 'completions'
  const answer = isChat ? 'message.content' : 'text'
  const json = JSON.stringify({ model, ...asked }, null, 2)
  const named = Object.entries({ model, ...asked }).map(([name, value]) => `    ${name}=${JSON.stringify(value)},\n`)
  const python = `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url="${base}", api_key=os.environ["KEY"])\nanswer = client.${call}.create(\n${named.join('')})\nprint(answer.choices[0].${answer})`
  const typescript = `import OpenAI from 'openai'\n\nconst client = new OpenAI({ baseURL: '${base}', apiKey: process.env.KEY })\nconst answer = await client.${call}.create(${json})\nconsole.log(answer.choices[0]?.${answer})`
  const curl = `curl ${base}/${path} -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' -d ${quoted(json)}`
  return { curl, Python: python, TypeScript: typescript }
}
