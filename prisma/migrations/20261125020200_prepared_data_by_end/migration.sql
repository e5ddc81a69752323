-- For the retention of prepared rows.
CREATE INDEX CONCURRENTLY "training_jobs_prepared_data_by_end" ON "training_jobs" ("finished_at")
  WHERE "prepared_data" IS NOT NULL AND "data_removed_at" IS NULL;
