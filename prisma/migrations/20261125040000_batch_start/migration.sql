-- When the first chunk of a batch began. Its age limit counts from then.
ALTER TABLE "inference_batches" ADD COLUMN "started_at" TIMESTAMPTZ(6);
