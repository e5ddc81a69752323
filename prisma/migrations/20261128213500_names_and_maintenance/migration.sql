-- The number of a job among those of its account on its data set, so that a job without a name reads "products, run 2". A trigger
-- numbers it, so that jobs which processes of the old version accept are numbered too.
ALTER TABLE "training_jobs" ADD COLUMN "dataset_run" INTEGER;

UPDATE training_jobs SET dataset_run = numbered.run FROM (
  SELECT id, row_number() OVER (PARTITION BY account_id, dataset_id ORDER BY created_at, id) AS run FROM training_jobs) numbered
WHERE numbered.id = training_jobs.id;

CREATE FUNCTION number_dataset_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Until the commit, no other job on this data set gets a number: it would get the same.
  PERFORM pg_advisory_xact_lock(hashtextextended(NEW.account_id::text || ' ' || NEW.dataset_id, 4713));
  SELECT coalesce(max(dataset_run), 0) + 1 INTO NEW.dataset_run
  FROM training_jobs WHERE account_id = NEW.account_id AND dataset_id = NEW.dataset_id;
  RETURN NEW;
END $$;
CREATE TRIGGER number_dataset_run BEFORE INSERT ON training_jobs FOR EACH ROW EXECUTE FUNCTION number_dataset_run();

-- While it is set, no new work starts. Every worker reads it where it grants slots and turns.
ALTER TABLE "installation" ADD COLUMN "maintenance_since" TIMESTAMPTZ(6), ADD COLUMN "maintenance_message" TEXT;

-- What the job's workflow in Temporal was told last about the wait of this attempt.
ALTER TABLE "attempts" ADD COLUMN "told_reason" TEXT, ADD COLUMN "told_ahead" INTEGER;
