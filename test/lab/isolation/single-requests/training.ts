// What is read of jobs and models, and what begins a fine-tuning job.
import type { Extreme, Stock } from './extreme.ts'
import { metadata, ordinaryBody, words } from './texts.ts'

const ofJob = ({ job: id }: Stock) => ({ job_id: id })
const ofTuning = ({ job: id }: Stock) => ({ fine_tuning_job_id: `ftjob-${id}` })

export const training: Record<string, Extreme[]> = {
  list_training_jobs: [
    { what: '1,000 jobs', sent: () => ({ query: 'limit=1000' }) },
    { what: 'all of 3,000 jobs', sent: () => ({}) },
    {
      what: '16 labels to look for',
      sent: () => ({
        query: Object.entries(metadata)
          .slice(0, 16)
          .map(([name, value]) => `metadata[${name}]=${value}`)
          .join('&'),
      }),
    },
  ],
  list_training_job_briefs: [
    { what: '1,000 jobs', sent: () => ({ query: 'limit=1000' }) },
    { what: 'a search without a result', sent: () => ({ query: `q=${'x'.repeat(4000)}` }) },
  ],
  get_training_job: [{ what: 'a job of 100,000 steps', sent: (stock) => ({ params: ofJob(stock) }) }],
  get_evaluation: [{ what: 'long answers', sent: (stock) => ({ params: ofJob(stock) }) }],
  get_training_job_log: [{ what: 'a megabyte', sent: (stock) => ({ params: ofJob(stock), query: 'limit=1048576' }) }],
  list_training_job_events: [
    { what: '1,000 events', sent: (stock) => ({ params: ofJob(stock), query: 'limit=1000' }) },
  ],
  list_attempts: [{ what: '1,000 attempts', sent: (stock) => ({ params: ofJob(stock), query: 'limit=1000' }) }],
  list_training_job_metrics: [
    { what: '10,000 steps', sent: (stock) => ({ params: ofJob(stock), query: 'limit=10000' }) },
  ],
  // The job of the stock has none: `read-rollouts.ts` bounds a page by bytes.
  list_rollouts: [{ what: 'the newest step', sent: (stock) => ({ params: ofJob(stock), query: 'limit=100' }) }],
  read_training_job_tensorboard_file: [{ what: '100,000 steps', sent: (stock) => ({ params: ofJob(stock) }) }],
  follow_training_job: [
    { what: 'all of 100,000 steps and 10,000 events', sent: (stock) => ({ params: ofJob(stock) }) },
    {
      what: 'from a long id',
      sent: (stock) => ({ params: ofJob(stock), headers: { 'last-event-id': '9'.repeat(8000) } }),
    },
  ],
  models: [{ what: 'all of 5,000 models', sent: () => ({}) }],
  get_model: [{ what: '100 versions', sent: ({ modelName: name }) => ({ params: { name }, query: 'limit=100' }) }],
  set_model_alias: [
    {
      what: 'a megabyte',
      sent: ({ modelName: name }) => ({
        params: { name, alias: 'a'.repeat(64) },
        body: { version: 1, other: words(ordinaryBody) },
      }),
    },
  ],
  export_model: [
    {
      what: 'a megabyte',
      sent: ({ modelName: name }) => ({
        params: { name },
        body: { format: 'adapter', other: words(ordinaryBody) },
      }),
    },
  ],
  downloaded_models: [{ what: '5,000 models', sent: () => ({}) }],
  find_downloaded_model: [
    {
      what: 'a megabyte',
      sent: (_, { baseModel }) => ({ body: { hf_model_name: baseModel, model_type: words(ordinaryBody) } }),
    },
  ],
  openai_list_models: [{ what: '5,000 models', sent: () => ({}) }],
  openai_create_fine_tuning_job: [
    {
      what: 'longest labels',
      sent: ({ smallFile }, { baseModel }) => ({
        body: { model: baseModel, training_file: smallFile, suffix: 's'.repeat(64), metadata },
      }),
      async settle(answer, asker) {
        await asker.ask('POST', `/openai/v1/fine_tuning/jobs/${(answer.body as { id: string }).id}/cancel`)
      },
    },
  ],
  openai_list_fine_tuning_jobs: [{ what: '100 jobs', sent: () => ({ query: 'limit=100' }) }],
  openai_list_fine_tuning_events: [
    { what: '100 events', sent: (stock) => ({ params: ofTuning(stock), query: 'limit=100' }) },
  ],
  openai_list_fine_tuning_checkpoints: [
    { what: '100 checkpoints', sent: (stock) => ({ params: ofTuning(stock), query: 'limit=100' }) },
  ],
}
