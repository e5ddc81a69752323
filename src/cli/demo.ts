import { parseArgs } from 'node:util'
import type { Command } from './command.ts'
import { compareModels, showTypedCompletion } from './demo/compare.ts'
import { withStack } from './demo/running-stack.ts'
import { submitSample, trainedModel } from './demo/training.ts'
import { homeUsage, parseHome, parsePort } from './options.ts'
import { createClient } from './remote/client.ts'

export const demo: Command = {
  usage: `[--model NAME] [--home DIR] [--port N]

  --model NAME base model to train (default: the first of the catalogue): any other has to be a chat model, as smollm2
${homeUsage}
  --port N     port of the API if the demo has to start the service (default: any free one)

Uses the service that runs on the data directory; otherwise starts one and stops it at the end.`,
  async run(args) {
    const texts = { model: { type: 'string' }, home: { type: 'string' }, port: { type: 'string' } } as const
    const { values } = parseArgs({ args, options: texts })
    const startedAt = performance.now()
    const options = { home: parseHome(values.home), port: parsePort(values.port ?? '0') }
    const exitCode = await withStack(options, async (connection, interrupted) => {
      const client = createClient(connection, interrupted)
      const base = values.model ?? connection.baseModel
      const plan = { baseModel: base, isChat: base !== connection.baseModel }
      const { job, rows } = await submitSample(client, plan)
      const workflowUrl = `${connection.temporalUiUrl}/namespaces/default/workflows/fine-tune-${job.job_id}`
      console.log(`\nTraining job ${job.job_id}; its workflow: ${workflowUrl}`)
      const tunedModel = await trainedModel(client, job.job_id)
      const passed = await compareModels(client, { base, tuned: tunedModel, isChat: plan.isChat }, rows)
      await showTypedCompletion(client, tunedModel, rows)
      console.log(`\nThe workflow in the Temporal UI (while the service runs): ${workflowUrl}`)
      return passed ? 0 : 1
    })
    if (exitCode === 0) console.log(`Demo done in ${Math.round((performance.now() - startedAt) / 1000)} s.`)
    return exitCode
  },
}
