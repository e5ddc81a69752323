import type { Client } from '../remote/client.ts'
import type { Row } from './training.ts'

const shownRows = 6
const maxTokens = 48
const leastTunedShare = 0.9
const maxBaseShare = 0.1

/** True when the tuned model knows the rows and the base does not. */
export async function compareModels(client: Client, models: { base: string; tuned: string }, rows: Row[]) {
  const [base, tuned] = [await answersOf(client, models.base, rows), await answersOf(client, models.tuned, rows)]
  console.log(`\nBase: ${models.base}\nTuned: ${models.tuned}\n`)
  for (const [i, row] of rows.slice(0, shownRows).entries()) {
    console.log(`  ${oneLine(row.input)}`)
    console.log(`    base   ${oneLine(base[i] ?? '')}`)
    console.log(`    tuned  ${oneLine(tuned[i] ?? '')}${isExact(tuned[i], row) ? '' : `   (expected: ${row.output})`}`)
  }
  const counts = [base, tuned].map((answers) => rows.filter((row, i) => isExact(answers[i], row)).length)
  const [baseCount = 0, tunedCount = 0] = counts
  console.log(`\nExact answers on ${rows.length} rows: base ${baseCount}, tuned ${tunedCount}.`)
  const passed = tunedCount >= leastTunedShare * rows.length && baseCount <= maxBaseShare * rows.length
  if (!passed)
    console.error(
      `The demo expects at least ${leastTunedShare * 100} % of the tuned model and nearly none of the base model.`,
    )
  return passed
}

export async function showTypedCompletion(client: Client, model: string, rows: Row[]) {
  const request = {
    model_name: model,
    prompt: rows.find(({ input }) => input.includes('cost'))?.input ?? '',
    output_type: { price: 'int', in_stock: 'bool' },
  }
  const answer = await client.post<unknown>('/v1/completions', request)
  console.log(`\nTyped completion of the tuned model, asked for ${JSON.stringify(request.output_type)}.`)
  console.log('The shape is guaranteed. The values are guesses, because the model was not trained on this shape:')
  console.log(`  ${oneLine(request.prompt)}`)
  console.log(`  ${JSON.stringify(answer)}`)
}

async function answersOf(client: Client, model: string, rows: Row[]): Promise<string[]> {
  const request = { model_name: model, prompt: rows.map((row) => row.input), max_tokens: maxTokens, temperature: 0 }
  const answers = await client.post<{ output: string }[]>('/v1/completions', request)
  return answers.map(({ output }) => output)
}

function isExact(answer: string | undefined, row: Row): boolean {
  return answer?.trim() === row.output.trim()
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 100)
}
