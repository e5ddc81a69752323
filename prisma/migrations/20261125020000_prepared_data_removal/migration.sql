-- Retention removes the prepared rows of ended jobs. Their hashes stay in "prepared_data".
ALTER TABLE "training_jobs" ADD COLUMN "data_removed_at" TIMESTAMPTZ(6);
