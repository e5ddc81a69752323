-- CreateExtension
CREATE EXTENSION IF NOT EXISTS "vector";

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "last_used_at" TIMESTAMPTZ(6),
ADD COLUMN     "scopes" TEXT[];

-- AlterTable
ALTER TABLE "dataset_versions" ADD COLUMN     "announced_rows" INTEGER,
ADD COLUMN     "is_public" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "report" JSONB,
ADD COLUMN     "size_bytes" BIGINT;

-- AlterTable
ALTER TABLE "outbox_messages" ALTER COLUMN "claimed_until" SET DEFAULT now();

-- CreateTable
CREATE TABLE "inference_batches" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "model_name" TEXT NOT NULL,
    "request" JSONB NOT NULL,
    "prompts_key" TEXT NOT NULL,
    "item_count" INTEGER NOT NULL,
    "done_count" INTEGER NOT NULL DEFAULT 0,
    "state" TEXT NOT NULL,
    "message" TEXT,
    "result_key" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(6),

    CONSTRAINT "inference_batches_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "inference_batch_chunks" (
    "batch_id" UUID NOT NULL,
    "start" INTEGER NOT NULL,
    "results" JSONB NOT NULL,

    CONSTRAINT "inference_batch_chunks_pkey" PRIMARY KEY ("batch_id","start")
);

-- CreateTable
CREATE TABLE "audit_events" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "account_id" UUID,
    "api_key_id" TEXT,
    "action" TEXT NOT NULL,
    "target" TEXT,
    "request_id" TEXT,
    "address" TEXT,

    CONSTRAINT "audit_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rate_limits" (
    "key" TEXT NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "rate_limits_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE INDEX "inference_batches_account_id_created_at_id_idx" ON "inference_batches"("account_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "audit_events_account_id_id_idx" ON "audit_events"("account_id", "id");

-- CreateIndex
CREATE INDEX "rate_limits_expire_idx" ON "rate_limits"("expire");

-- CreateIndex
CREATE INDEX "dataset_versions_used_at_created_at_idx" ON "dataset_versions"("used_at", "created_at");

-- CreateIndex
CREATE INDEX "stored_rows_account_id_collection_created_at_id_idx" ON "stored_rows"("account_id", "collection", "created_at", "id");

-- AddForeignKey
ALTER TABLE "inference_batches" ADD CONSTRAINT "inference_batches_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "inference_batch_chunks" ADD CONSTRAINT "inference_batch_chunks_batch_id_fkey" FOREIGN KEY ("batch_id") REFERENCES "inference_batches"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Keys made before there were scopes keep what they could do.
UPDATE "api_keys" SET "scopes" = '{inference,training,data,read,admin}';

-- Waiting rows are found without a scan over the embedded ones.
CREATE INDEX "stored_rows_waiting_idx" ON "stored_rows"("created_at") WHERE "embedding" IS NULL;

-- The audit trail only grows.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit_events is append-only';
END $$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_events" EXECUTE FUNCTION refuse_audit_change();
