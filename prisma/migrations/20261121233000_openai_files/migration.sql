-- The name that a file came with, through /openai/v1/files; null for other data sets.
ALTER TABLE "dataset_versions" ADD COLUMN "file_name" TEXT;
-- The accepted cancel was a pause: the job is meant to be resumed.
ALTER TABLE "training_jobs" ADD COLUMN "pause_requested_at" TIMESTAMPTZ(6);
