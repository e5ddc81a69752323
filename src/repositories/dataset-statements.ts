// The lists of data sets and of their versions.
import type { Statement } from './prepared-sql.ts'

/** Prefix of the ids of deleted data sets. No valid id begins with it. */
export const hiddenDatasets = 'deleted:'

const columns = `d.version, d.file_name as "fileName", d.created_at as "createdAt",
      coalesce(d.size_bytes, d.upload_bytes)::float8 as "sizeBytes",
      (d.report->>'rowCount')::int as "rowCount", (d.report->>'badRowCount')::int as "badRowCount",
      (d.report->'tokenLength'->>'estimatedTotal')::float8 as "tokenCount"`

/** Whether a job trains on the version among several data sets. */
export const isAmongSources = (job: string, versionId: string) =>
  `${job}.spec->'sources' is not null
    and ${job}.spec->'sources' @> jsonb_build_array(jsonb_build_object('versionId', ${versionId}))`

/**
 * The newest jobs that train or evaluate on these versions. `offset 0` keeps the planner from walking the jobs of all
 * accounts backwards by their ids.
 */
const jobIdsOf = (versions: string) => `
      array(
        select id from (
          select j.id from ${versions} join training_jobs j on j.dataset_version_id = v.id
          union
          select j.id from ${versions} join training_jobs j on ${isAmongSources('j', 'v.id')}
          union
          select j.id from ${versions} join training_jobs j on j.spec->>'evaluationKey' = v.upload_key offset 0) jobs
        order by id desc limit 10) as "jobIds"`

/** Ids never begin with a character before "0", so an empty `after` precedes all. */
export const listDatasets: Statement = {
  name: 'list-datasets',
  text: `
    select d.dataset_id as "datasetId", ${columns},
      (select count(*)::int from dataset_versions v where v.account_id = $1::uuid and v.dataset_id = d.dataset_id) as "versionCount",
      ${jobIdsOf('(select * from dataset_versions where account_id = $1::uuid and dataset_id = d.dataset_id) v')}
    from (
      select distinct on (dataset_id) * from dataset_versions
      where account_id = $1::uuid and dataset_id > coalesce($2::text, '') and dataset_id not like '${hiddenDatasets}%'
      order by dataset_id, version desc limit $3::int) d
    order by d.dataset_id`,
}

export const listVersions: Statement = {
  name: 'list-dataset-versions',
  text: `
    select ${columns}, ${jobIdsOf('(select d.id, d.upload_key) v')}
    from dataset_versions d
    where d.account_id = $1::uuid and d.dataset_id = $2::text and d.version < coalesce($3::int, 2147483647)
    order by d.version desc limit $4::int`,
}
