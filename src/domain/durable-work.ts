// Durable work: a row, and one workflow that ends the row before it closes. The parts that all kinds share read this table.
import { batchAgeLimitMs, inferenceBatchWorkflowPrefix } from './inference-batch.ts'
import { evaluationWorkflowPrefix } from './model-evaluation.ts'
import { exportWorkflowPrefix } from './model-export.ts'

type WorkDescription = {
  workflowType: string
  /** The row's id follows. */
  workflowPrefix: string
  /** Accounts find, list and cancel the work there by its id. Null: kinds with ways of their own. */
  repository: string | null
  /** A row without `finished_at` is open. Work with `granted_at` may run. */
  table: string
  /**
   * The places that a row takes of those that its account has for this kind, as SQL over the row. Null: the work runs at once.
   * An account has as many places as it may have running batches, and half of them while another account has an open batch.
   */
  places: string | null
  /** The workflow's input, what the Temporal UI says of it, and the base model that it is about or null: SQL over the row. */
  input: string
  summary: string
  baseModel: string | null
  /** Whether the work has failed: SQL over the row. A failed batch of an evaluation is told by its evaluation. */
  hasFailed: string
  /** The folder of the work's objects. The ids of the account and of the row follow. */
  folder: string
  /** Days after the end of the work until its rows and objects are removed. */
  keptDays: number
}

/** As in pip@2; null for a model without a custom name. */
const nameOfModel = (table: string) =>
  `(select v.name || '@' || v.version from model_versions v where v.model_name = ${table}.model_name)`

export const durableWork = {
  batch: {
    workflowType: 'inferenceBatch',
    workflowPrefix: inferenceBatchWorkflowPrefix,
    repository: null,
    table: 'inference_batches',
    // The places of an evaluation are those of its batches.
    places: 'case when evaluation_id is null then 1 else 0 end',
    // The request is kept as a text in JSON, because Postgres sorts keys.
    input: `jsonb_build_object('batchId', id, 'chunkCount', jsonb_array_length((request #>> '{}')::jsonb->'chunks'), 'ageLimitMs', ${batchAgeLimitMs})`,
    summary: `'Batch of ' || item_count || ' ' || kind || ' on ' || coalesce(${nameOfModel('inference_batches')}, model_name)`,
    baseModel: null,
    hasFailed: "state = 'failed' and evaluation_id is null",
    folder: 'batches',
    keptDays: 7,
  },
  evaluation: {
    workflowType: 'modelEvaluation',
    workflowPrefix: evaluationWorkflowPrefix,
    repository: 'modelEvaluations',
    table: 'model_evaluations',
    places: 'model_count',
    input: "jsonb_build_object('evaluationId', id)",
    summary: "'Evaluation of ' || model_count || case when model_count = 1 then ' model' else ' models' end",
    baseModel: null,
    hasFailed: "status = 'FAILED'",
    folder: 'evaluations',
    keptDays: 90,
  },
  export: {
    workflowType: 'modelExport',
    workflowPrefix: exportWorkflowPrefix,
    repository: null,
    table: 'model_exports',
    places: null,
    input: "jsonb_build_object('exportId', id)",
    summary: `'Merged export of ' || coalesce(${nameOfModel('model_exports')}, 'a model') || ' on ' || (request->'baseModel'->>'name')`,
    baseModel: "request->'baseModel'->>'name'",
    hasFailed: "status = 'FAILED'",
    folder: 'exports',
    // The model can be merged again.
    keptDays: 7,
  },
} as const satisfies Record<string, WorkDescription>

export type WorkKind = keyof typeof durableWork
export type ListedKind = {
  [Kind in WorkKind]: (typeof durableWork)[Kind]['repository'] extends null ? never : Kind
}[WorkKind]
export type Work = { kind: WorkKind; id: string }

export const workKinds = Object.keys(durableWork) as WorkKind[]
/** Holds every object of the work. */
export const folderOf = ({ kind, id }: Work, accountId: string) => `${durableWork[kind].folder}/${accountId}/${id}/`
export const workflowIdOf = ({ kind, id }: Work) => `${durableWork[kind].workflowPrefix}${id}`
