CREATE INDEX CONCURRENTLY "job_events_job_id_at_id_idx" ON "job_events"("job_id", "at", "id");
