import {
  backwardChain,
  branching,
  longText,
  manyProperties,
  manyWords,
  patterns,
  patternsOfItems,
  ranges,
  recursive,
} from '../../../support/hostile-schemas.ts'
import { jsonOf } from '../accounts.ts'
import type { Attack } from '../attack.ts'
import { completion, readiness, typedCompletion } from '../probes.ts'
import { keepAsking } from './connections.ts'

const connections = 8

export const schemas: Attack = {
  name: 'schemas',
  what: 'eight connections ask for answers of schemas, tools, types and grammars that are short to write and long to read or to check',
  seconds: 40,
  maxGrowthMb: { api: 400 },
  probes: (stage) => [completion(stage), typedCompletion(stage), readiness(stage)],
  async run({ baseModel, signal, ask, underway }) {
    const chats = hostileChats().map((body) => ({
      path: '/openai/v1/chat/completions',
      body: { ...body, model: baseModel },
    }))
    const typed = { path: '/v1/completions', body: { ...manyTypedPrompts(), model_name: baseModel } }
    const requests = [...chats, typed].map(({ path, body }) => ({ path, body: jsonOf(body) }))
    underway()
    await keepAsking(connections, signal, (connection, turn) => {
      const { path, body } = requests[(connection + turn) % requests.length] as (typeof requests)[number]
      return ask('POST', path, body)
    })
  },
}

function hostileChats(): object[] {
  const messages = [{ role: 'user', content: 'What is it?' }]
  const ofSchema = (schema: object) => ({
    messages,
    max_tokens: 400,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  })
  const ofGrammar = (grammar: string) => ({ messages, max_tokens: 400, structured_outputs: { grammar } })
  const ofTools = (count: number, parameters: object) => ({
    messages,
    max_tokens: 700,
    tool_choice: 'required',
    tools: Array.from({ length: count }, (_, index) => ({
      type: 'function',
      function: { name: `f${index}`, parameters },
    })),
  })
  return [
    ofSchema(patterns(300)),
    ofTools(8, patterns(120)),
    ofTools(100, manyProperties(200)),
    ofSchema(patternsOfItems(50)),
    ofSchema(backwardChain(700, 7000)),
    ofSchema(branching(22)),
    ofSchema(ranges(900)),
    ofSchema(recursive(400)),
    ofGrammar(longText()),
    ofGrammar(manyWords(1000)),
  ]
}

const manyTypedPrompts = () => ({
  prompt: Array.from({ length: 1000 }, () => 'What is it?'),
  output_type: { which: Array.from({ length: 5000 }, (_, index) => index) },
  max_tokens: 1,
})
