-- The part of `bytes` that rollouts have: adding them up for each request would read them all.
ALTER TABLE "account_storage" ADD COLUMN "rollout_bytes" BIGINT NOT NULL DEFAULT 0;

CREATE FUNCTION add_artifact_bytes(artifact artifacts, sign int) RETURNS void LANGUAGE sql AS $$
  insert into account_storage as stored (account_id, bytes, rollout_bytes)
  select account_id, change, case when artifact.kind = 'rollouts' then change else 0 end
  from training_jobs, lateral (select sign * file_bytes(artifact.files) as change) as counted
  where id = artifact.job_id and change <> 0
  on conflict (account_id) do update set
    bytes = stored.bytes + excluded.bytes, rollout_bytes = stored.rollout_bytes + excluded.rollout_bytes
$$;

-- Writers of artifacts wait, so that each one counts once.
LOCK TABLE "artifacts" IN SHARE ROW EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION count_artifacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_artifact_bytes(NEW, 1); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_artifact_bytes(OLD, -1); END IF;
  RETURN NULL;
END $$;

UPDATE account_storage SET rollout_bytes = counted.bytes FROM (
  SELECT j.account_id, sum(file_bytes(a.files)) AS bytes
  FROM artifacts a JOIN training_jobs j ON j.id = a.job_id WHERE a.kind = 'rollouts' GROUP BY j.account_id
) AS counted WHERE counted.account_id = account_storage.account_id;
