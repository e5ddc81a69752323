-- When a file of the OpenAI API goes; null: never.
ALTER TABLE "dataset_versions" ADD COLUMN "expires_at" TIMESTAMPTZ(6);
