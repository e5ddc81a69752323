-- The pairs of a job's metadata, in the order of the list of jobs, so that a filter walks the index and sorts nothing.
CREATE TABLE "training_job_metadata" (
  "account_id" UUID NOT NULL,
  "key" TEXT NOT NULL,
  "value" TEXT NOT NULL,
  "created_at" TIMESTAMPTZ(6) NOT NULL,
  "job_id" INTEGER NOT NULL,
  CONSTRAINT "training_job_metadata_pkey" PRIMARY KEY ("job_id", "key"),
  CONSTRAINT "training_job_metadata_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "training_jobs"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "training_job_metadata_pairs_idx" ON "training_job_metadata"("account_id", "key", "value", "created_at", "job_id");

CREATE FUNCTION keep_job_metadata() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO training_job_metadata (account_id, key, value, created_at, job_id)
  SELECT NEW.account_id, pair.key, pair.value, NEW.created_at, NEW.id FROM jsonb_each_text(NEW.spec->'metadata') pair;
  RETURN NULL;
END $$;
CREATE TRIGGER training_jobs_metadata AFTER INSERT ON "training_jobs" FOR EACH ROW
  WHEN (jsonb_typeof(NEW.spec->'metadata') = 'object') EXECUTE FUNCTION keep_job_metadata();

INSERT INTO training_job_metadata (account_id, key, value, created_at, job_id)
SELECT j.account_id, pair.key, pair.value, j.created_at, j.id
FROM training_jobs j, jsonb_each_text(j.spec->'metadata') pair WHERE jsonb_typeof(j.spec->'metadata') = 'object';
