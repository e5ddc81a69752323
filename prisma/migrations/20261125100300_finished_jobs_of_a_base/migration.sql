-- For estimates: the newest complete jobs of a base model, of all accounts. No list is sorted by it.
CREATE INDEX CONCURRENTLY "training_jobs_complete_of_base_idx" ON "training_jobs"("base_model", "finished_at") WHERE "status" = 'COMPLETED';
