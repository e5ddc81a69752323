// The command of each route: the service's sentences name routes and fields, and a person at a terminal knows commands and options.

/** docs/cli.md has the same table; a test compares them. */
export const commandOfRoute: Readonly<Record<string, string>> = {
  'POST /v1/train': 'anneal train',
  'GET /v1/train/jobs': 'anneal jobs',
  'GET /v1/train/jobs/{job_id}': 'anneal job',
  'GET /v1/train/jobs/{job_id}/stream': 'anneal job',
  'GET /v1/train/jobs/{job_id}/skipped-rows': 'anneal job',
  'GET /v1/train/jobs/{job_id}/record': 'anneal export',
  'GET /v1/data/{dataset_id}/versions/{version}': 'anneal export',
  'POST /v1/imports/datasets': 'anneal import',
  'POST /v1/imports/jobs': 'anneal import',
  'GET /v1/train/jobs/{job_id}/rollouts': 'anneal rollouts',
  'POST /v1/train/jobs/{job_id}/cancel': 'anneal cancel',
  'POST /v1/train/jobs/cancel': 'anneal cancel --all',
  'POST /v1/train/jobs/{job_id}/resume': 'anneal resume',
  'GET /v1/train/jobs/{job_id}/logs': 'anneal logs',
  'GET /v1/train/jobs/{job_id}/events': 'anneal events',
  'GET /v1/train/jobs/{job_id}/attempts': 'anneal attempts',
  'GET /v1/train/jobs/{job_id}/metrics': 'anneal metrics',
  'GET /v1/train/jobs/{job_id}/eval': 'anneal eval',
  'GET /v1/svc/train/jobs/{job_id}/eval': 'anneal eval',
  'POST /v1/data': 'anneal upload',
  'GET /v1/data': 'anneal data list',
  'GET /v1/data/{dataset_id}': 'anneal data report',
  'GET /v1/data/{dataset_id}/versions': 'anneal data versions',
  'GET /v1/data/{dataset_id}/rows': 'anneal data rows',
  'POST /v1/data/{dataset_id}/columns': 'anneal data map',
  'PUT /v1/data/{dataset_id}/columns': 'anneal data columns',
  'DELETE /v1/data/{dataset_id}': 'anneal data delete',
  'POST /v1/completions': 'anneal complete',
  'POST /openai/v1/chat/completions': 'anneal chat',
  'POST /v1/inference/embedding': 'anneal embed',
  'POST /v1/batch_completions': 'anneal batch complete',
  'GET /v1/batch_completions/{id}/result': 'anneal batch result',
  'POST /v1/batch_embeddings': 'anneal batch embed',
  'GET /v1/batch_embeddings/{id}/result': 'anneal batch result',
  'GET /v1/batches': 'anneal batch list',
  'GET /v1/batches/{id}': 'anneal batch show',
  'POST /v1/batches/{id}/cancel': 'anneal batch cancel',
  'GET /v1/models': 'anneal models list',
  'GET /v1/models/{name}': 'anneal models show',
  'DELETE /v1/models/{name}': 'anneal models delete',
  'PUT /v1/models/{name}/aliases/{alias}': 'anneal models alias',
  'DELETE /v1/models/{name}/aliases/{alias}': 'anneal models unalias',
  'GET /v1/models/{name}/card': 'anneal models card',
  'GET /v1/models/{name}/download': 'anneal models download',
  'POST /v1/models/{name}/export': 'anneal models export',
  'GET /v1/models/{name}/exports/{export_id}': 'anneal models export',
  'POST /v1/evaluations': 'anneal evaluations create',
  'GET /v1/evaluations': 'anneal evaluations list',
  'GET /v1/evaluations/{id}': 'anneal evaluations show',
  'GET /v1/evaluations/{id}/rows': 'anneal evaluations rows',
  'POST /v1/evaluations/{id}/cancel': 'anneal evaluations cancel',
  'GET /v1/usage': 'anneal usage',
  'GET /v1/audit': 'anneal audit',
  'GET /v1/limits': 'anneal limits',
  'GET /v1/console/session': 'anneal whoami',
  'GET /v1/webhooks': 'anneal webhooks list',
  'POST /v1/webhooks': 'anneal webhooks create',
}

/** Fields of bodies, queries and headers that are options. Arguments such as the id of a job keep the name of the field. */
const optionOfField: Readonly<Record<string, string>> = {
  model_name: '--model',
  custom_model_name: '--name',
  eval_dataset_id: '--eval-data',
  'gpu_config.gpus': '--gpus',
  'evaluation.graders': '--graders',
  max_tokens: '--max-tokens',
  max_rows: '--max-rows',
  output_type: '--type',
  'X-Anneal-Account': '--account',
}

/** The names of parameters differ between a route and the sentences about it. */
const shapeOf = (route: string) => route.replaceAll(/\{\w+\}|:\w+/g, '{}')

const commandOfShape = new Map(Object.entries(commandOfRoute).map(([route, command]) => [shapeOf(route), command]))

/** @param route as the client names it, such as /v1/train/jobs/:job_id */
export const commandOf = (method: string, route: string) => commandOfShape.get(shapeOf(`${method} ${route}`))

/** The sentence with commands in place of routes, and at its begin the option in place of a field. */
export function inWordsOfCommands(sentence: string): string {
  const named = sentence.replaceAll(/(?:GET|POST|PUT|DELETE) \/[\w/{}-]+/g, (route) => {
    const command = commandOfShape.get(shapeOf(route))
    return command === undefined ? route : `\`${command}\``
  })
  const argument = /^finetune_args\.(\w+)/.exec(named)?.[1]
  if (argument !== undefined) return named.replace(/^finetune_args\.\w+/, `--set ${argument}`)
  const [field = ''] = /^[\w.-]+/.exec(named) ?? []
  return (optionOfField[field] ?? field) + named.slice(field.length)
}
