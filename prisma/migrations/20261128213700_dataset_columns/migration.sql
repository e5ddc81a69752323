-- The columns of a file that hold what the trainer reads.
alter table dataset_versions add column columns jsonb;

-- The list of the rows that a job has left out is stored beside its rows, and counts with them.
create or replace function prepared_bytes(job training_jobs) returns bigint language sql immutable as $$
  select case when job.data_removed_at is null and job.prepared_data->'train'->>'key' like 'jobs/' || job.id || '/%'
    then (job.prepared_data->'train'->>'sizeBytes')::bigint + (job.prepared_data->'evaluation'->>'sizeBytes')::bigint
      + coalesce((job.prepared_data->'skipped'->>'sizeBytes')::bigint, 0)
    else 0 end
$$;
