CREATE INDEX CONCURRENTLY "training_jobs_account_id_dataset_id_dataset_run_idx" ON "training_jobs"("account_id", "dataset_id", "dataset_run");
