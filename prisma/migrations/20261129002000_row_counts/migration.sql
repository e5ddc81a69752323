-- What a trainer has counted in its rows.
alter table attempts add column row_counts jsonb;

-- The lines that rows come from are stored beside the rows, and count with them.
create or replace function prepared_bytes(job training_jobs) returns bigint language sql immutable as $$
  select case when job.data_removed_at is null and job.prepared_data->'train'->>'key' like 'jobs/' || job.id || '/%'
    then (job.prepared_data->'train'->>'sizeBytes')::bigint + (job.prepared_data->'evaluation'->>'sizeBytes')::bigint
      + coalesce((job.prepared_data->'train'->'lines'->>'sizeBytes')::bigint, 0)
      + coalesce((job.prepared_data->'evaluation'->'lines'->>'sizeBytes')::bigint, 0)
      + coalesce((job.prepared_data->'skipped'->>'sizeBytes')::bigint, 0)
    else 0 end
$$;
