import { requestUpload } from '../../services/request-upload.ts'
import { defineRoute } from '../edge/route.ts'
import { DataAnswer, DataRequest, UploadBasePath } from '../schemas/data.ts'

/** It must never say `azure`: old clients then send rows inline. */
const uploadBasePath = 's3' as const

export const dataRoutes = [
  defineRoute({
    name: 'data',
    method: 'post',
    path: '/v1/data',
    summary: 'Ask for a place to upload a data set',
    access: 'key',
    scope: 'data',
    body: DataRequest,
    response: DataAnswer,
    async handle({ caller: ctx, body }) {
      const { datasetId, url } = await requestUpload({ ctx, input: { datasetId: body.dataset_id } })
      return { upload_base_path: uploadBasePath, dataset_location: url, dataset_id: datasetId }
    },
  }),
  defineRoute({
    name: 'get_upload_base_path',
    method: 'get',
    path: '/v1/get-upload-base-path',
    summary: 'The kind of place that data sets are uploaded to',
    access: 'key',
    scope: 'data',
    response: UploadBasePath,
    handle: () => ({ upload_base_path: uploadBasePath }),
  }),
]
