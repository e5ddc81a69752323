// Where the rows of a request to train are. Clients name one data set in several ways at once, or list several data sets.
import type { z } from 'zod'
import { invalidInput } from '../../domain/service-error.ts'
import type { ReceivedRows } from '../../services/datasets/ingest-rows.ts'
import type { DatasetReference } from '../../services/datasets/resolve.ts'
import type { TrainRequest } from './schemas/train.ts'

type Data = Omit<DatasetReference, 'modelName' | 'isPublic'>

/** @throws ServiceError invalid_input */
export function dataOf(body: z.output<typeof TrainRequest>, rows: ReceivedRows | undefined): Data {
  const uploadFilePath = body.upload_file_path ?? undefined
  const [datasetId, storedId] = [body.dataset_id ?? undefined, body.id ?? undefined]
  if (!body.datasets) return { uploadFilePath, datasetId, rows, storedId }
  const other = Object.entries({ dataset_id: datasetId, upload_file_path: uploadFilePath, data: rows, id: storedId })
  const named = other.find(([, value]) => value !== undefined)
  if (named) throw invalidInput('datasets', `Send datasets or ${named[0]}, not both.`)
  const sets = body.datasets.map(({ dataset_id, weight }) => ({ datasetId: dataset_id, weight: weight ?? 1 }))
  const twice = sets.findIndex((set, index) => sets.findIndex((each) => each.datasetId === set.datasetId) < index)
  if (twice >= 0)
    throw invalidInput(
      `datasets[${twice}].dataset_id`,
      `The data set "${sets[twice]?.datasetId}" is listed twice. List it once, with the sum of its weights.`,
    )
  // One set is a job as ever.
  return sets.length === 1 ? { datasetId: sets[0]?.datasetId } : { sets }
}
