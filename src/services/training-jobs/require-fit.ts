// Refuses a training that does not fit into the memory of the model's GPUs.
import { gpuCountOf } from '../../domain/attempt-ledger.ts'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { accountFolders } from '../../domain/storage-keys.ts'
import type { TrainingArgs } from '../../domain/training-args.ts'
import { fitProblem, longestRowIn } from '../../domain/training-fit.ts'
import type { TrainingMethod } from '../../domain/training-method.ts'
import type { Ctx } from '../context.ts'

type Asked = {
  entry: CatalogueEntry
  args: TrainingArgs
  method: TrainingMethod | null
  gpus: number | null
  nodes: number
  /** Start it all the same. */
  isForced: boolean
}
/** An upload, with the id of its version of a data set. */
type Upload = { id: string; uploadKey: string }

/** Whether the memory of the model's GPUs and the shape of the model are known. */
export const isFitKnown = ({ entry, gpus, nodes, isForced }: Omit<Asked, 'args' | 'method'>) =>
  !isForced &&
  entry.shape !== undefined &&
  entry.resources.gpuMemoryGiB !== undefined &&
  gpuCountOf({ gpus, nodes, baseModel: entry }) > 0

/**
 * @param uploads null before they are found. Rows that no check has read count as the shortest: the check of the job reads them,
 * and ends it before it takes a GPU
 * @throws ServiceError does_not_fit
 */
export async function requireFit(ctx: Ctx, asked: Asked, uploads: readonly Upload[] | null): Promise<void> {
  if (!isFitKnown(asked)) return
  const { entry, args, method, gpus, nodes } = asked
  const longestRow = uploads && (await longestRowOf(ctx, uploads, entry.name))
  const gpuCount = gpuCountOf({ gpus, nodes, baseModel: entry })
  const message = fitProblem({ entry, args, method, gpuCount }, longestRow)
  if (message !== null)
    throw new ServiceError('does_not_fit', message, { issues: [{ path: 'finetune_args', message }] })
}

/** By the reports of earlier checks. */
async function longestRowOf({ deps, accountId }: Ctx, uploads: readonly Upload[], model: string) {
  const { database, storage } = deps
  const own = accountFolders(accountId)
  const reports = await Promise.all(
    uploads.map(async ({ id, uploadKey }) => {
      // The acceptance finds that the location is of another account. Until then nothing is told of its rows.
      if (!own.some((folder) => uploadKey.startsWith(folder))) return { tokenLength: null }
      const [report, object] = await Promise.all([database.datasets.report(id), storage.stat(uploadKey)])
      return report && report.etag === object?.etag ? report : { tokenLength: null }
    }),
  )
  return longestRowIn(reports, model)
}
