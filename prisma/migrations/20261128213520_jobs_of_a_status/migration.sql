CREATE INDEX CONCURRENTLY "training_jobs_status_id_idx" ON "training_jobs"("status", "id");
