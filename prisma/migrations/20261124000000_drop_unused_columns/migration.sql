-- Nothing reads the first column; every batch has a key since the second one exists.
ALTER TABLE "model_servers" DROP COLUMN "endpoint";
UPDATE "inference_batches" SET "api_key_id" = '' WHERE "api_key_id" IS NULL;
ALTER TABLE "inference_batches" ALTER COLUMN "api_key_id" SET NOT NULL;
