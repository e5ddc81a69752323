// Clients of other makers by their own quick starts, unmodified. Prints the table that docs/lab/clients.md keeps.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { featuresOf, type Client, type Feature } from './third-party/run-clients.ts'

const clients: Client[] = [
  { name: 'instructor 1.17.0', script: 'instructor_client.py', requirements: 'instructor.txt' },
  { name: 'LangChain 1.5.2', script: 'langchain_client.py', requirements: 'langchain.txt' },
  { name: 'LangChain.js 1.6.0', script: 'langchain-js/client.mjs', packages: 'langchain-js' },
  { name: 'LlamaIndex 0.8.1', script: 'llama_index_client.py', requirements: 'llama-index.txt' },
  { name: 'LiteLLM 1.110.2', script: 'litellm_client.py', requirements: 'litellm.txt' },
  { name: 'pydantic-ai 2.68.0', script: 'pydantic_ai_client.py', requirements: 'pydantic-ai.txt' },
  { name: 'DSPy 3.4.1', script: 'dspy_client.py', requirements: 'dspy.txt' },
  { name: 'Vercel ai 7.0.173', script: 'vercel-ai/client.mjs', packages: 'vercel-ai' },
  { name: 'lm-eval 0.4.13', script: 'lm_eval_client.py', requirements: 'lm-eval.txt' },
  { name: 'inspect-ai 0.3.285', script: 'inspect_ai_client.py', requirements: 'inspect-ai.txt' },
  { name: 'llm 0.36', script: 'llm_client.py', requirements: 'llm.txt' },
]
/** Some of them, by a part of their names. */
const wanted = process.env['ANNEAL_CLIENTS']?.split(',') ?? ['']

const resultOf = ({ error, refused }: Feature) => (error !== null ? 'fails' : (refused ?? 'works'))

// All clients run before the first suite is named: the runner takes a file to be over when its suites are.
const runs: Record<string, Awaited<ReturnType<typeof featuresOf>>> = {}
for (const client of clients.filter(({ name }) => wanted.some((part) => name.includes(part))))
  runs[client.name] = await featuresOf(client)

for (const [name, { results, chatter }] of Object.entries(runs))
  suite(name, () => {
    for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
    test('runs its whole script', () => assert.ok(results.length > 3, chatter))
  })

after(() => {
  const rows = Object.entries(runs).flatMap(([name, { results }]) =>
    results.map((result) => `| ${name} | ${result.check} | ${resultOf(result)} |`),
  )
  console.log(['| Client | Feature | Result |', '|---|---|---|', ...rows].join('\n'))
})
