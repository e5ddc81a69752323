-- What each key has used of each model on each day (UTC). The processes add to it every few seconds. '' is work that no key asked for.
CREATE TABLE "usage_days" (
  "account_id" UUID NOT NULL,
  "day" DATE NOT NULL,
  "api_key_id" TEXT NOT NULL,
  "model" TEXT NOT NULL,
  "prompts" BIGINT NOT NULL DEFAULT 0,
  "prompt_tokens" BIGINT NOT NULL DEFAULT 0,
  "completion_tokens" BIGINT NOT NULL DEFAULT 0,
  "engine_seconds" DOUBLE PRECISION NOT NULL DEFAULT 0,
  "training_seconds" DOUBLE PRECISION NOT NULL DEFAULT 0,
  "gpu_seconds" DOUBLE PRECISION NOT NULL DEFAULT 0,
  CONSTRAINT "usage_days_pkey" PRIMARY KEY ("account_id", "day", "api_key_id", "model"),
  CONSTRAINT "usage_days_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
-- Whose key a batch is counted under; null for those of the release before.
ALTER TABLE "inference_batches" ADD COLUMN "api_key_id" TEXT;
