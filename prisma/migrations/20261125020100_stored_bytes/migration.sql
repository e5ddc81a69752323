-- Bytes in the object store, counted in the transaction of the row that names the object, whichever code writes that row.
ALTER TABLE "dataset_versions" ADD COLUMN "upload_bytes" BIGINT, ADD COLUMN "measured_at" TIMESTAMPTZ(6);
ALTER TABLE "inference_batches" ADD COLUMN "stored_bytes" BIGINT NOT NULL DEFAULT 0;

CREATE TABLE "account_storage" (
  "account_id" UUID NOT NULL,
  "bytes" BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT "account_storage_pkey" PRIMARY KEY ("account_id")
);
ALTER TABLE "account_storage" ADD CONSTRAINT "account_storage_account_id_fkey"
  FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE FUNCTION file_bytes(files jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  select coalesce(sum((file->>'sizeBytes')::bigint), 0)::bigint from jsonb_array_elements(files) as file
$$;

-- Rows that lie in the folder of another job count there.
CREATE FUNCTION prepared_bytes(job training_jobs) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  select case when job.data_removed_at is null and job.prepared_data->'train'->>'key' like 'jobs/' || job.id || '/%'
    then (job.prepared_data->'train'->>'sizeBytes')::bigint + (job.prepared_data->'evaluation'->>'sizeBytes')::bigint
    else 0 end
$$;

CREATE FUNCTION dataset_version_bytes(version dataset_versions) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  select greatest(version.size_bytes, version.upload_bytes, 0)
$$;

CREATE FUNCTION add_stored_bytes(account uuid, change bigint) RETURNS void LANGUAGE sql AS $$
  insert into account_storage as stored (account_id, bytes) select account, change where change <> 0
  on conflict (account_id) do update set bytes = stored.bytes + excluded.bytes
$$;

CREATE FUNCTION count_dataset_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_stored_bytes(NEW.account_id, dataset_version_bytes(NEW)); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_stored_bytes(OLD.account_id, -dataset_version_bytes(OLD)); END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_training_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_stored_bytes(NEW.account_id, prepared_bytes(NEW)); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_stored_bytes(OLD.account_id, -prepared_bytes(OLD)); END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_artifacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN
    PERFORM add_stored_bytes(account_id, file_bytes(NEW.files)) FROM training_jobs WHERE id = NEW.job_id;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    PERFORM add_stored_bytes(account_id, -file_bytes(OLD.files)) FROM training_jobs WHERE id = OLD.job_id;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_models() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_stored_bytes(NEW.account_id, file_bytes(NEW.files)); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_stored_bytes(OLD.account_id, -file_bytes(OLD.files)); END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_inference_batches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_stored_bytes(NEW.account_id, NEW.stored_bytes); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_stored_bytes(OLD.account_id, -OLD.stored_bytes); END IF;
  RETURN NULL;
END $$;

-- Updates of other columns are frequent and cost nothing here.
CREATE TRIGGER count_new AFTER INSERT OR DELETE ON dataset_versions
  FOR EACH ROW EXECUTE FUNCTION count_dataset_versions();
CREATE TRIGGER count_changed AFTER UPDATE ON dataset_versions FOR EACH ROW
  WHEN (OLD.size_bytes IS DISTINCT FROM NEW.size_bytes OR OLD.upload_bytes IS DISTINCT FROM NEW.upload_bytes)
  EXECUTE FUNCTION count_dataset_versions();
CREATE TRIGGER count_gone AFTER DELETE ON training_jobs FOR EACH ROW EXECUTE FUNCTION count_training_jobs();
CREATE TRIGGER count_changed AFTER UPDATE ON training_jobs FOR EACH ROW
  WHEN (OLD.prepared_data IS DISTINCT FROM NEW.prepared_data OR OLD.data_removed_at IS DISTINCT FROM NEW.data_removed_at)
  EXECUTE FUNCTION count_training_jobs();
CREATE TRIGGER count_new AFTER INSERT OR DELETE ON artifacts FOR EACH ROW EXECUTE FUNCTION count_artifacts();
CREATE TRIGGER count_changed AFTER UPDATE ON artifacts FOR EACH ROW
  WHEN (OLD.files IS DISTINCT FROM NEW.files) EXECUTE FUNCTION count_artifacts();
CREATE TRIGGER count_new AFTER INSERT OR DELETE ON models FOR EACH ROW EXECUTE FUNCTION count_models();
CREATE TRIGGER count_changed AFTER UPDATE ON models FOR EACH ROW
  WHEN (OLD.files IS DISTINCT FROM NEW.files) EXECUTE FUNCTION count_models();
CREATE TRIGGER count_new AFTER INSERT OR DELETE ON inference_batches
  FOR EACH ROW EXECUTE FUNCTION count_inference_batches();
CREATE TRIGGER count_changed AFTER UPDATE ON inference_batches FOR EACH ROW
  WHEN (OLD.stored_bytes IS DISTINCT FROM NEW.stored_bytes) EXECUTE FUNCTION count_inference_batches();

INSERT INTO account_storage (account_id, bytes)
SELECT account_id, sum(bytes) FROM (
  SELECT account_id, dataset_version_bytes(v) AS bytes FROM dataset_versions v
  UNION ALL SELECT account_id, prepared_bytes(j) FROM training_jobs j
  UNION ALL SELECT j.account_id, file_bytes(a.files) FROM artifacts a JOIN training_jobs j ON j.id = a.job_id
  UNION ALL SELECT account_id, file_bytes(files) FROM models
) AS counted GROUP BY account_id;
