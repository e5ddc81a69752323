-- For the failures of a day, over all accounts.
CREATE INDEX CONCURRENTLY "training_jobs_failed_idx" ON "training_jobs"("finished_at") WHERE "status" = 'FAILED';
