// Names of jobs, models and data sets for people. Ids stay what requests and rows refer to.

/** What the name of a job or of its model is made of. */
export type NameParts = {
  jobId: number
  customModelName: string | null
  /** The version that the model has of the custom name; null before the job has a model. */
  modelVersion: number | null
  datasetId: string
  /** The name of the file that the data set was uploaded as; null where only its id is known. */
  fileName: string | null
  /** Counts the account's jobs on the data set. */
  datasetRun: number | null
}

/** Ids that the service gave to rows without a name of their own. */
const isGivenId = /^[0-9a-f]{32}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^file-/

export const datasetDisplayName = ({ datasetId, fileName }: Pick<NameParts, 'datasetId' | 'fileName'>): string =>
  fileName ?? datasetId

/** "pip@2" once the model has a version, "pip" before. Without a custom name "products, run 2". */
export function jobDisplayName(parts: NameParts): string {
  const { jobId, customModelName, modelVersion, datasetRun } = parts
  if (customModelName) return modelVersion === null ? customModelName : `${customModelName}@${modelVersion}`
  const dataset = datasetDisplayName(parts)
  if (isGivenId.test(dataset) || datasetRun === null) return `job ${jobId}`
  return `${dataset.replace(/\.(jsonl?|csv)(\.gz)?$/i, '') || dataset}, run ${datasetRun}`
}

export const checkpointDisplayName = (jobName: string, step: number): string => `${jobName}, step ${step}`
