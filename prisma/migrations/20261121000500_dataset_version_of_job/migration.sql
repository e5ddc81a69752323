-- Removing a version looks for the jobs that were accepted on it. Alone in its file: it must not run in a transaction.
CREATE INDEX CONCURRENTLY "training_jobs_dataset_version_id_idx" ON "training_jobs"("dataset_version_id");
