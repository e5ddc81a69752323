-- An event's id is drawn when the row is written. Two transactions may commit in the other order, and a reader that
-- continues after the highest id would then miss the lower one. So transactions of one job commit one after another, and
-- draw new ids if a higher one was committed meanwhile. No transaction takes a lock after this one: it cannot deadlock.
CREATE FUNCTION order_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(4712, NEW.job_id);
  IF EXISTS (SELECT FROM job_events WHERE job_id = NEW.job_id AND id > NEW.id AND xmin <> pg_current_xact_id()::xid) THEN
    UPDATE job_events each SET id = renewed.id FROM (
      SELECT own.id AS drawn, nextval('job_events_id_seq') AS id FROM (
        SELECT id FROM job_events WHERE job_id = NEW.job_id AND id >= NEW.id AND xmin = pg_current_xact_id()::xid ORDER BY id
      ) own) renewed
    WHERE each.id = renewed.drawn;
  END IF;
  PERFORM pg_notify('training_jobs', NEW.job_id::text);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER job_events_order AFTER INSERT ON "job_events"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION order_job_event();
