-- Where a job's series are sent, for each tracker that its request names. Only the worker that has claimed a row sends.
CREATE TABLE "job_trackers" (
  "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  "job_id" INTEGER NOT NULL,
  "account_id" UUID NOT NULL,
  "request" JSONB NOT NULL,
  "state" TEXT NOT NULL DEFAULT 'open' CHECK ("state" IN ('open', 'done', 'given_up')),
  "run_id" TEXT,
  "sent_step" INTEGER NOT NULL DEFAULT 0,
  "failing_since" TIMESTAMPTZ(6),
  "failure_count" INTEGER NOT NULL DEFAULT 0,
  "due_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "claim" UUID,
  "claimed_until" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "job_trackers_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "job_trackers_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "training_jobs"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "job_trackers_job_id_idx" ON "job_trackers"("job_id");
CREATE INDEX "job_trackers_due_idx" ON "job_trackers"("due_at") WHERE "state" = 'open';
CREATE INDEX "job_trackers_busy_idx" ON "job_trackers"("account_id", "claimed_until") WHERE "state" = 'open';

-- In the transaction that accepts the job.
CREATE FUNCTION open_job_trackers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO job_trackers (job_id, account_id, request)
  SELECT NEW.id, NEW.account_id, tracker FROM jsonb_array_elements(NEW.spec->'trackers') AS tracker;
  RETURN NULL;
END $$;
CREATE TRIGGER training_jobs_open_trackers AFTER INSERT ON "training_jobs" FOR EACH ROW
  WHEN (NEW.spec ? 'trackers') EXECUTE FUNCTION open_job_trackers();

-- A job that is resumed has more to send.
CREATE FUNCTION reopen_job_trackers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE job_trackers SET state = 'open', due_at = now(), failing_since = null, failure_count = 0,
    -- A round that has read the finished job must not note that it is done.
    claim = null, claimed_until = now() WHERE job_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER training_jobs_reopen_trackers AFTER UPDATE ON "training_jobs" FOR EACH ROW
  WHEN (OLD.finished_at IS NOT NULL AND NEW.finished_at IS NULL AND NEW.spec ? 'trackers')
  EXECUTE FUNCTION reopen_job_trackers();
