// Evaluations, evals, their runs and graders.
import type { Answer } from '../accounts.ts'
import type { Asker, Extreme } from './extreme.ts'
import { settled } from './settle.ts'
import { list, megabyte, metadata, nested, record, words } from './texts.ts'

const item = (at: number) => ({ item: { q: words(100, at), ...record(20, (field) => `${field}`) } })
const custom = (itemSchema: object, criteria: object[]) => ({
  name: 'n'.repeat(256),
  metadata,
  data_source_config: { type: 'custom', item_schema: itemSchema, include_sample_schema: true },
  testing_criteria: criteria,
})
const check = (at: number, input = '{{item.q}}') => ({
  type: 'string_check',
  name: `check ${at}`,
  operation: 'eq',
  input,
  reference: 'Ann',
})
const judge = (baseModel: string) => ({
  type: 'label_model',
  name: 'judge',
  model: baseModel,
  input: list(100, () => ({ role: 'user', content: `{{item.q}}${words(19_000)}` })),
  labels: list(100, (at) => `${at}`.padEnd(200, 'l')),
  passing_labels: ['0'.padEnd(200, 'l')],
})
const itemsRun = (content: object[]) => ({
  name: 'n'.repeat(256),
  metadata,
  data_source: { type: 'jsonl', source: { type: 'file_content', content } },
})

async function endedRun(answer: Answer, asker: Asker) {
  if (answer.status !== 200) return
  const { id, eval_id: evalId } = answer.body as { id: string; eval_id: string }
  await settled(asker, `/openai/v1/evals/${evalId}/runs/${id}`, ({ body }) =>
    ['completed', 'failed', 'canceled'].includes((body as { status: string }).status),
  )
}

async function endedEvaluation(answer: Answer, asker: Asker) {
  if (answer.status !== 200) return
  const { id } = answer.body as { id: string }
  await settled(asker, `/v1/evaluations/${id}`, ({ body }) =>
    ['COMPLETED', 'FAILED', 'CANCELLED'].includes((body as { status: string }).status),
  )
}

const graderBody = (grader: object, more: object = {}) => ({ body: { grader, ...more } })

export const evals: Record<string, Extreme[]> = {
  create_evaluation: [
    {
      what: '2,000 rows and ten graders',
      sent: ({ manyRows }, { baseModel }) => ({
        body: {
          models: [baseModel],
          dataset_id: manyRows,
          max_rows: 2000,
          max_tokens: 4,
          graders: [
            'exact_match',
            'f1',
            'includes',
            'numeric',
            'rouge_l',
            'fuzzy_match',
            'gleu',
            'bleu',
            'chrf',
            'equals',
          ],
        },
      }),
      settle: endedEvaluation,
    },
    {
      what: 'rows of 600 KB',
      sent: ({ wideRows }, { baseModel }) => ({
        body: { models: [baseModel], dataset_id: wideRows, max_tokens: 4, graders: ['rouge_l', 'chrf'] },
      }),
      settle: endedEvaluation,
    },
  ],
  list_evaluations: [{ what: '20 evaluations', sent: () => ({ query: 'limit=20' }) }],
  get_model_evaluation: [{ what: 'the largest', sent: ({ evaluation: id }) => ({ params: { id } }) }],
  list_evaluation_rows: [{ what: '128 rows', sent: ({ evaluation: id }) => ({ params: { id }, query: 'limit=128' }) }],
  openai_create_eval: [
    {
      what: 'ten checks with longest templates',
      sent: () => ({
        body: custom(
          { type: 'object' },
          list(10, (at) => check(at, `{{item.q}}${words(19_900)}`)),
        ),
      }),
    },
    {
      what: 'a schema of a megabyte',
      sent: () => ({
        body: custom(
          { type: 'object', properties: record(5000, () => ({ type: 'string', description: words(120) })) },
          [check(0)],
        ),
      }),
    },
    {
      what: 'a schema nested deeply',
      sent: () => ({ body: custom({ type: 'object', properties: nested(45, {}) as object }, [check(0)]) }),
    },
    {
      what: 'a judge with 100 messages and labels',
      sent: (_, { baseModel }) => ({
        body: custom({ type: 'object' }, [{ ...judge(baseModel), input: judge(baseModel).input.slice(0, 40) }]),
      }),
    },
  ],
  openai_list_evals: [{ what: '100 evals', sent: () => ({ query: 'limit=100' }) }],
  openai_get_eval: [{ what: 'the largest', sent: ({ eval: id }) => ({ params: { eval_id: id } }) }],
  openai_update_eval: [
    {
      what: 'longest labels',
      sent: ({ eval: id }) => ({ params: { eval_id: id }, body: { name: 'n'.repeat(256), metadata } }),
    },
  ],
  openai_create_eval_run: [
    {
      what: '10,000 small items',
      sent: ({ eval: id }) => ({ params: { eval_id: id }, body: itemsRun(list(10_000, item)) }),
      settle: endedRun,
    },
    {
      what: '2,000 items of 9 KB with samples',
      sent: ({ eval: id }) => ({
        params: { eval_id: id },
        body: itemsRun(list(2000, (at) => ({ item: { q: words(9000, at) }, sample: { output_text: words(100, at) } }))),
      }),
      settle: endedRun,
    },
    {
      what: 'an item of 15 MB',
      sent: ({ eval: id }) => ({
        params: { eval_id: id },
        body: itemsRun([{ item: { q: words(15 * megabyte) }, sample: { output_text: 'a' } }]),
      }),
      settle: endedRun,
    },
    {
      what: '100,000 empty items',
      sent: ({ eval: id }) => ({ params: { eval_id: id }, body: itemsRun(list(100_000, () => ({}))) }),
    },
    {
      what: '2,000 items and 100 messages of 190 KB in all',
      sent: ({ eval: id }, { baseModel }) => ({
        params: { eval_id: id },
        body: {
          data_source: {
            type: 'completions',
            model: baseModel,
            source: { type: 'file_content', content: list(100, item) },
            input_messages: {
              type: 'template',
              template: list(100, () => ({ role: 'user', content: `{{item.q}}${words(1900)}` })),
            },
            sampling_params: { max_completion_tokens: 4 },
          },
        },
      }),
      settle: endedRun,
    },
  ],
  openai_list_eval_runs: [
    { what: '100 runs', sent: ({ eval: id }) => ({ params: { eval_id: id }, query: 'limit=100' }) },
  ],
  openai_list_eval_output_items: [
    {
      what: '100 items',
      sent: ({ eval: id, evalRun }) => ({ params: { eval_id: id, run_id: evalRun }, query: 'limit=100' }),
    },
  ],
  openai_run_grader: [
    {
      what: 'two texts of 400 KB, fuzzy',
      sent: () =>
        graderBody(
          {
            type: 'text_similarity',
            name: 'a',
            input: '{{sample.output_text}}',
            reference: '{{item.q}}',
            evaluation_metric: 'fuzzy_match',
          },
          { model_sample: words(400_000), item: { q: words(400_000, 1) } },
        ),
    },
    {
      what: 'two texts of 400 KB, rouge_l',
      sent: () =>
        graderBody(
          {
            type: 'text_similarity',
            name: 'a',
            input: '{{sample.output_text}}',
            reference: '{{item.q}}',
            evaluation_metric: 'rouge_l',
          },
          { model_sample: words(400_000), item: { q: words(400_000, 1) } },
        ),
    },
    {
      what: 'two texts of 400 KB, checked',
      sent: () =>
        graderBody(
          {
            type: 'string_check',
            name: 'a',
            input: '{{sample.output_text}}',
            reference: '{{item.q}}',
            operation: 'ilike',
          },
          { model_sample: words(400_000), item: { q: words(400_000, 1) } },
        ),
    },
    {
      what: 'an item of 9,990 fields',
      sent: () =>
        graderBody(check(0), {
          model_sample: 'a',
          item: record(
            9990,
            () => 1,
            (at) => `${at}`,
          ),
        }),
    },
  ],
  openai_validate_grader: [
    { what: 'longest templates', sent: () => graderBody(check(0, `{{item.q}}${words(19_900)}`)) },
  ],
  openai_get_eval_run: [
    { what: 'the largest', sent: ({ eval: id, evalRun }) => ({ params: { eval_id: id, run_id: evalRun } }) },
  ],
}
