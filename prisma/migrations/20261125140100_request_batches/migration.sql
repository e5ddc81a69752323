-- Purpose of a file; null is fine-tune.
ALTER TABLE "dataset_versions" ADD COLUMN "purpose" TEXT;

-- Batches of whole requests: how many failed, why the batch ends before its last line, and its files.
ALTER TABLE "inference_batches" ADD COLUMN "failed_count" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "inference_batches" ADD COLUMN "end_reason" TEXT;
ALTER TABLE "inference_batches" ADD COLUMN "cancelled_at" TIMESTAMPTZ(6);
ALTER TABLE "inference_batches" ADD COLUMN "finalizing_at" TIMESTAMPTZ(6);
ALTER TABLE "inference_batches" ADD COLUMN "output_file_id" TEXT;
ALTER TABLE "inference_batches" ADD COLUMN "error_file_id" TEXT;
