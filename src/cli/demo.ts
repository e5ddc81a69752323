import { defineVerb } from './command.ts'
import { compareModels, showTypedCompletion } from './demo/compare.ts'
import { withStack } from './demo/running-stack.ts'
import { submitSample, trainedModel } from './demo/training.ts'
import { homeOption, parseHome, parsePort } from './options.ts'
import { createClient } from './remote/client.ts'

export const command = defineVerb({
  options: {
    model: {
      value: 'NAME',
      says: 'base model to train (default: the first of the catalogue): any other has to be a chat model, as smollm2',
    },
    home: homeOption,
    port: { value: 'N', says: 'port of the API if the demo has to start the service (default: any free one)' },
  },
  note: 'Uses the service that runs on the data directory; otherwise starts one and stops it at the end.',
  async run(_args, values) {
    const startedAt = performance.now()
    const options = { home: parseHome(values.home), port: parsePort(values.port ?? '0') }
    const exitCode = await withStack(options, async (connection, interrupted) => {
      const client = createClient(connection, interrupted)
      const base = values.model ?? connection.baseModel
      const plan = { baseModel: base, isChat: base !== connection.baseModel }
      const { jobId, rows } = await submitSample(client, plan)
      const workflowUrl = `${connection.temporalUiUrl}/namespaces/default/workflows/fine-tune-${jobId}`
      console.log(`\nTraining job ${jobId}; its workflow: ${workflowUrl}`)
      const tunedModel = await trainedModel(client, jobId)
      const passed = await compareModels(client, { base, tuned: tunedModel, isChat: plan.isChat }, rows)
      await showTypedCompletion(client, tunedModel, rows)
      console.log(`\nThe workflow in the Temporal UI (while the service runs): ${workflowUrl}`)
      return passed ? 0 : 1
    })
    if (exitCode === 0) console.log(`Demo done in ${Math.round((performance.now() - startedAt) / 1000)} s.`)
    return exitCode
  },
})
