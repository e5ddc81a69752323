// A real chat model that learned conversations, asked everywhere. Trainer and model server compute in the same number format, as
// they do unless the catalogue names one for the server.
import { testChatModel } from '../e2e/support/chat-model.ts'
import { sampleRows } from '../support/rows.ts'

testChatModel({
  system: 'You answer questions about our products.',
  questions: sampleRows.slice(0, 20).map(({ input, output }) => ({
    input: input.replace('Question: ', '').replace('\nAnswer: ', ''),
    output,
  })),
  finetuneArgs: {
    max_steps: 40,
    batch_size: 8,
    gradient_accumulation_steps: 1,
    learning_rate: 2e-3,
    r_value: 16,
    warmup_steps: 5,
    optim: 'adamw_torch',
    seed: 7,
  },
  least: 0.8,
  mayDiffer: 1,
})
