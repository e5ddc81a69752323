// Vercel's SDK by the page of its provider for endpoints that speak OpenAI's API.
import assert from 'node:assert/strict'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { embedMany, generateObject, generateText, isStepCount, stepCountIs, streamObject, streamText, tool } from 'ai'
import { z } from 'zod'
import { apiKey, baseURL, embedder, feature, model, question } from './features.mjs'

const provider = createOpenAICompatible({ name: 'anneal', baseURL, apiKey, supportsStructuredOutputs: true })
const schema = z.object({ name: z.string(), year: z.number().int(), tags: z.array(z.string()) })
const asked = { model: provider(model), prompt: question, maxOutputTokens: 200, maxRetries: 0 }

await feature('chat', async () => {
  const { text, usage } = await generateText(asked)
  assert.ok(typeof text === 'string' && usage.outputTokens > 0)
})

await feature('stream', async () => {
  const pieces = []
  for await (const piece of streamText(asked).textStream) pieces.push(piece)
  assert.ok(pieces.length > 1)
})

await feature('structured output', async () => {
  const { object } = await generateObject({ ...asked, schema })
  assert.ok(Number.isInteger(object.year) && Array.isArray(object.tags))
})

await feature('stream of a structure', async () => {
  const stream = streamObject({ ...asked, schema })
  for await (const part of stream.partialObjectStream) assert.equal(typeof part, 'object')
  assert.ok(Number.isInteger((await stream.object).year))
})

await feature('structured output without schemas', async () => {
  const plain = createOpenAICompatible({ name: 'anneal', baseURL, apiKey })
  const { object } = await generateObject({ ...asked, model: plain(model), output: 'no-schema' })
  assert.equal(typeof object, 'object')
})

await feature('tools', async () => {
  const tools = {
    priceOf: tool({
      description: 'Look up the price of a product.',
      inputSchema: z.object({ product: z.string() }),
      execute: ({ product }) => ({ price: product.length }),
    }),
  }
  const toolChoice = { type: 'tool', toolName: 'priceOf' }
  const { toolResults } = await generateText({ ...asked, tools, toolChoice })
  assert.equal(typeof toolResults[0].output.price, 'number')
  await generateText({ ...asked, tools, stopWhen: (isStepCount ?? stepCountIs)(2) })
})

await feature('completions', async () => {
  const { text } = await generateText({ ...asked, model: provider.completionModel(model), maxOutputTokens: 8 })
  assert.equal(typeof text, 'string')
})

await feature('embeddings', async () => {
  const embedding = (provider.embeddingModel ?? provider.textEmbeddingModel).bind(provider)
  const { embeddings } = await embedMany({ model: embedding(embedder), values: ['a cat', 'a dog'] })
  assert.equal(embeddings[1].length, 384)
})
