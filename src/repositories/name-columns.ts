/**
 * The columns of `NameParts`, for a statement in which `j` is a row of training_jobs.
 * @param modelName the expression of the model's id
 */
export const nameColumns = (modelName = 'j.model_name') => `
  j.id as "jobId", j.custom_model_name as "customModelName", j.dataset_id as "datasetId", j.dataset_run as "datasetRun",
  (select file_name from dataset_versions where id = j.dataset_version_id) as "fileName",
  (select version from model_versions where model_name = ${modelName}) as "modelVersion"`
