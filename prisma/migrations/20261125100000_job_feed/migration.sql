-- Followers of a job remember numbers that rise in the order of the commits. Only one attempt of a job writes steps, under
-- its lock, so a sequence is enough for them. Rows of earlier releases have 0 and are told apart by their step.
CREATE SEQUENCE "training_steps_sequence_seq";
ALTER TABLE "training_steps" ADD COLUMN "sequence" BIGINT NOT NULL DEFAULT 0;
CREATE INDEX "training_steps_job_id_sequence_step_idx" ON "training_steps"("job_id", "sequence", "step");

CREATE FUNCTION number_training_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sequence := nextval('training_steps_sequence_seq');
  RETURN NEW;
END $$;
CREATE TRIGGER training_steps_number BEFORE INSERT OR UPDATE ON "training_steps" FOR EACH ROW EXECUTE FUNCTION number_training_step();

CREATE FUNCTION announce_training_steps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('training_jobs', job_id::text) FROM (SELECT DISTINCT job_id FROM changed) each;
  RETURN NULL;
END $$;
CREATE TRIGGER training_steps_announce_new AFTER INSERT ON "training_steps"
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION announce_training_steps();
CREATE TRIGGER training_steps_announce_again AFTER UPDATE ON "training_steps"
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION announce_training_steps();

-- Rises with each change of what users see of a job's state. The row's lock orders the changes.
CREATE SEQUENCE "training_jobs_state_sequence_seq";
ALTER TABLE "training_jobs" ADD COLUMN "state_sequence" BIGINT NOT NULL DEFAULT 0;

CREATE FUNCTION number_job_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.state_sequence := nextval('training_jobs_state_sequence_seq');
  PERFORM pg_notify('training_jobs', NEW.id::text);
  RETURN NEW;
END $$;
CREATE TRIGGER training_jobs_number_state BEFORE UPDATE ON "training_jobs" FOR EACH ROW
  WHEN ((OLD.status, OLD.status_reason, OLD.status_message, OLD.model_name)
    IS DISTINCT FROM (NEW.status, NEW.status_reason, NEW.status_message, NEW.model_name))
  EXECUTE FUNCTION number_job_state();

-- Bytes of an attempt's log that the object store holds. Null before the first copy, and in attempts of earlier releases.
ALTER TABLE "attempts" ADD COLUMN "log_bytes" BIGINT;
