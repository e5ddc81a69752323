-- Retention removes the trackers of jobs that ended long ago. A resume of such a job makes them anew.
CREATE OR REPLACE FUNCTION reopen_job_trackers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE job_trackers SET state = 'open', due_at = now(), failing_since = null, failure_count = 0,
    -- A round that has read the finished job must not note that it is done.
    claim = null, claimed_until = now() WHERE job_id = NEW.id;
  IF NOT FOUND THEN
    INSERT INTO job_trackers (job_id, account_id, request)
    SELECT NEW.id, NEW.account_id, tracker FROM jsonb_array_elements(NEW.spec->'trackers') AS tracker;
  END IF;
  RETURN NULL;
END $$;
