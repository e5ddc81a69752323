import { deleteRows } from '../../services/stored-data/delete-rows.ts'
import { storeRows } from '../../services/stored-data/store-rows.ts'
import { defineRoute } from '../kit/route.ts'
import { DeleteDataAnswer, DeleteDataRequest, StoreDataAnswer, StoreDataRequest } from './schemas/stored-data.ts'

const mebibyte = 1024 * 1024

export const storedDataRoutes = [
  defineRoute({
    name: 'store_data',
    errorStatuses: [404, 594],
    method: 'post',
    path: '/v1/svc/data',
    summary: 'Store rows under an id, for retrieval and training with that id',
    access: 'key',
    scope: 'data',
    body: StoreDataRequest,
    // An array of items is streamed; a single item stays in the body.
    rows: { fields: ['data'], limitBytes: 1024 * mebibyte, restLimitBytes: 8 * mebibyte },
    idempotent: true,
    response: StoreDataAnswer,
    async handle({ caller: ctx, body, rows, idempotency }) {
      const { id, model_name: modelName, data, data_type: dataType } = body
      const input = { id: id ?? null, modelName: modelName ?? null, rows: rows['data'] ?? null, data, dataType }
      const { datasetId } = await storeRows({ ctx, input, idempotency })
      return { dataset: datasetId }
    },
  }),
  defineRoute({
    name: 'delete_data',
    method: 'post',
    path: '/v1/svc/delete_data',
    summary: 'Delete the rows stored under an id',
    access: 'key',
    scope: 'data',
    body: DeleteDataRequest,
    response: DeleteDataAnswer,
    handle: ({ caller: ctx, body: { id } }) => deleteRows({ ctx, input: { id } }),
  }),
]
