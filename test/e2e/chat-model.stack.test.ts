import { sampleRows } from '../support/rows.ts'
import { testChatModel } from './support/chat-model.ts'

testChatModel({
  system: 'You answer questions about our products.',
  questions: sampleRows.map(({ input, output }) => ({
    input: input.replace('Question: ', '').replace('\nAnswer: ', ''),
    output,
  })),
  finetuneArgs: { max_steps: 100 },
  least: 0.8,
})
