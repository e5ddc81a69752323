// LangChain.js by the quick start of @langchain/openai.
import assert from 'node:assert/strict'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { z } from 'zod'
import { embedder, feature, model, question } from './features.mjs'

const llm = new ChatOpenAI({ model, maxTokens: 200, maxRetries: 0 })
const schema = z.object({ name: z.string(), year: z.number().int(), tags: z.array(z.string()) })

await feature('chat', async () => {
  const answer = await llm.invoke([
    ['system', 'Be brief.'],
    ['human', question],
  ])
  assert.ok(typeof answer.content === 'string' && answer.usage_metadata.output_tokens > 0)
})

await feature('stream', async () => {
  const pieces = []
  for await (const piece of await llm.stream(question)) pieces.push(piece)
  assert.ok(pieces.length > 1)
})

await feature('structured output', async () => {
  assert.ok(Number.isInteger((await llm.withStructuredOutput(schema).invoke(question)).year))
  const calling = llm.withStructuredOutput(schema, { method: 'functionCalling' })
  assert.ok(Number.isInteger((await calling.invoke(question)).year))
})

await feature('tools', async () => {
  const priceOf = tool(({ product }) => product.length, {
    name: 'price_of',
    description: 'Look up the price of a product.',
    schema: z.object({ product: z.string() }),
  })
  const answer = await llm.bindTools([priceOf], { tool_choice: 'price_of' }).invoke(question)
  assert.equal(typeof answer.tool_calls[0].args.product, 'string')
  await llm.bindTools([priceOf]).invoke(question)
})

await feature('responses', async () => {
  const answer = await new ChatOpenAI({ model, useResponsesApi: true, maxTokens: 20 }).invoke(question)
  assert.ok(answer.content !== undefined)
})

await feature('embeddings', async () => {
  const vectors = await new OpenAIEmbeddings({ model: embedder }).embedDocuments(['a cat', 'a dog'])
  assert.equal(vectors[1].length, 384)
})
