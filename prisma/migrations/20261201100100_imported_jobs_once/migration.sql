-- Two imports of one job at once: the second one finds the first one's job.
CREATE UNIQUE INDEX CONCURRENTLY "training_jobs_account_id_imported_from_imported_job_id_key"
  ON "training_jobs"("account_id", "imported_from", "imported_job_id");
