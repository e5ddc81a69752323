import type { Client } from '../remote/client.ts'
import type { Row } from './training.ts'

const shownRows = 6
const maxTokens = 48
const leastTunedShare = 0.9
const maxBaseShare = 0.1

/** None of the rows is about these, so the tuned model should answer like its base. */
const otherQuestions = ['What is the capital of France?', 'Name three fruits.']

type Models = { base: string; tuned: string; isChat: boolean }

/** True when the tuned model knows the rows and the base does not. */
export async function compareModels(client: Client, models: Models, rows: Row[]) {
  const answersOf = models.isChat ? chatAnswers : completions
  const inputs = rows.map(({ input }) => input)
  const [base, tuned] = [await answersOf(client, models.base, inputs), await answersOf(client, models.tuned, inputs)]
  console.log(`\nBase: ${models.base}\nTuned: ${models.tuned}\n`)
  for (const [i, row] of rows.slice(0, shownRows).entries())
    showAnswers(row.input, base[i], tuned[i], isExact(tuned[i], row) ? '' : `   (expected: ${row.output})`)
  if (models.isChat) await showOtherAnswers(client, models)
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
  const answer = await client.post('/v1/completions', { body: request })
  console.log(`\nTyped completion of the tuned model, asked for ${JSON.stringify(request.output_type)}.`)
  console.log('The shape is guaranteed. The values are guesses, because the model was not trained on this shape:')
  console.log(`  ${oneLine(request.prompt)}`)
  console.log(`  ${JSON.stringify(answer)}`)
}

async function showOtherAnswers(client: Client, { base, tuned }: Models) {
  const [before, after] = [
    await chatAnswers(client, base, otherQuestions),
    await chatAnswers(client, tuned, otherQuestions),
  ]
  for (const [i, question] of otherQuestions.entries()) showAnswers(question, before[i], after[i])
}

function showAnswers(question: string, base = '', tuned = '', remark = '') {
  console.log(`  ${oneLine(question)}`)
  console.log(`    base   ${oneLine(base)}`)
  console.log(`    tuned  ${oneLine(tuned)}${remark}`)
}

const chatAnswers = (client: Client, model: string, questions: string[]): Promise<string[]> =>
  Promise.all(
    questions.map(async (content) => {
      const request = { model, messages: [{ role: 'user', content }], max_tokens: maxTokens, temperature: 0 }
      const { choices } = await client.post('/openai/v1/chat/completions', { body: request })
      return choices[0]?.message.content ?? ''
    }),
  )

async function completions(client: Client, model: string, prompts: string[]): Promise<string[]> {
  const request = { model_name: model, prompt: prompts, max_tokens: maxTokens, temperature: 0 }
  const answers = await client.post('/v1/completions', { body: request })
  return [answers].flat().map(({ output }) => String(output))
}

function isExact(answer: string | undefined, row: Row): boolean {
  return answer?.trim() === row.output.trim()
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 100)
}
