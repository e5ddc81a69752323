-- CreateExtension
CREATE EXTENSION IF NOT EXISTS "vector";

-- CreateTable
CREATE TABLE "accounts" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "dataset_versions" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "dataset_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "upload_key" TEXT NOT NULL,
    "used_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dataset_versions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "training_jobs" (
    "id" SERIAL NOT NULL,
    "account_id" UUID NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "dataset_version_id" UUID NOT NULL,
    "dataset_id" TEXT NOT NULL,
    "base_model" TEXT NOT NULL,
    "custom_model_name" TEXT,
    "is_public" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL,
    "status_reason" TEXT,
    "status_message" TEXT,
    "spec" JSONB NOT NULL,
    "spec_hash" TEXT NOT NULL,
    "prepared_data" JSONB,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "current_attempt" INTEGER NOT NULL DEFAULT 0,
    "resume_count" INTEGER NOT NULL DEFAULT 0,
    "resume_limit" INTEGER NOT NULL,
    "cancel_requested_at" TIMESTAMPTZ(6),
    "model_name" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(6),

    CONSTRAINT "training_jobs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "attempts" (
    "id" UUID NOT NULL,
    "job_id" INTEGER NOT NULL,
    "number" INTEGER NOT NULL,
    "generation" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "account_id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "run_name" TEXT NOT NULL,
    "run_uid" TEXT,
    "claim_id" TEXT,
    "phase" TEXT,
    "from_artifact_id" UUID,
    "from_step" INTEGER NOT NULL DEFAULT 0,
    "last_step" INTEGER,
    "reported_cause" TEXT,
    "cause" TEXT,
    "exit_code" INTEGER,
    "message" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "granted_at" TIMESTAMPTZ(6),
    "claimed_at" TIMESTAMPTZ(6),
    "ended_at" TIMESTAMPTZ(6),
    "fenced_at" TIMESTAMPTZ(6),
    "released_at" TIMESTAMPTZ(6),

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "training_steps" (
    "job_id" INTEGER NOT NULL,
    "step" INTEGER NOT NULL,
    "attempt" INTEGER NOT NULL,
    "loss" DOUBLE PRECISION NOT NULL,
    "learning_rate" DOUBLE PRECISION NOT NULL,
    "epoch" DOUBLE PRECISION NOT NULL,
    "iter_time" DOUBLE PRECISION NOT NULL,
    "flops" DOUBLE PRECISION NOT NULL,
    "remaining_time" DOUBLE PRECISION NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "training_steps_pkey" PRIMARY KEY ("job_id","step")
);

-- CreateTable
CREATE TABLE "artifacts" (
    "id" UUID NOT NULL,
    "job_id" INTEGER NOT NULL,
    "attempt" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "step" INTEGER NOT NULL,
    "spec_hash" TEXT NOT NULL,
    "files" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "committed_at" TIMESTAMPTZ(6),
    "verified_at" TIMESTAMPTZ(6),
    "corrupt_at" TIMESTAMPTZ(6),

    CONSTRAINT "artifacts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "models" (
    "name" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "job_id" INTEGER NOT NULL,
    "artifact_id" UUID NOT NULL,
    "base_model" TEXT NOT NULL,
    "files" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "models_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "evaluations" (
    "artifact_id" UUID NOT NULL,
    "index" INTEGER NOT NULL,
    "split" TEXT NOT NULL,
    "input" TEXT NOT NULL,
    "expected" TEXT NOT NULL,
    "tuned" TEXT NOT NULL,
    "base" TEXT NOT NULL,

    CONSTRAINT "evaluations_pkey" PRIMARY KEY ("artifact_id","index")
);

-- CreateTable
CREATE TABLE "job_events" (
    "id" BIGSERIAL NOT NULL,
    "job_id" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "kind" TEXT NOT NULL,
    "status" TEXT,
    "attempt" INTEGER,
    "reason" TEXT,
    "message" TEXT,
    "actor" TEXT NOT NULL,

    CONSTRAINT "job_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbox_messages" (
    "id" BIGSERIAL NOT NULL,
    "workflow_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,
    "payload" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "claimed_until" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
    "delivery_count" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,
    "delivered_at" TIMESTAMPTZ(6),

    CONSTRAINT "outbox_messages_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "account_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "response" JSONB,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "claimed_until" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("account_id","key")
);

-- CreateTable
CREATE TABLE "model_servers" (
    "base_model" TEXT NOT NULL,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "state" TEXT NOT NULL,
    "token_hash" BYTEA,
    "endpoint" TEXT,
    "reason" TEXT,
    "message" TEXT,
    "ready_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "model_servers_pkey" PRIMARY KEY ("base_model")
);

-- CreateTable
CREATE TABLE "stored_rows" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "collection" TEXT NOT NULL,
    "row_hash" BYTEA NOT NULL,
    "row" JSONB NOT NULL,
    "text" TEXT NOT NULL,
    "embedding" vector(384),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "stored_rows_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "dataset_versions_account_id_dataset_id_version_key" ON "dataset_versions"("account_id", "dataset_id", "version");

-- CreateIndex
CREATE UNIQUE INDEX "training_jobs_model_name_key" ON "training_jobs"("model_name");

-- CreateIndex
CREATE INDEX "training_jobs_account_id_created_at_id_idx" ON "training_jobs"("account_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "training_jobs_account_id_status_created_at_id_idx" ON "training_jobs"("account_id", "status", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "attempts_token_hash_key" ON "attempts"("token_hash");

-- CreateIndex
CREATE INDEX "attempts_released_at_created_at_idx" ON "attempts"("released_at", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "attempts_job_id_number_key" ON "attempts"("job_id", "number");

-- CreateIndex
CREATE UNIQUE INDEX "attempts_job_id_generation_ordinal_key" ON "attempts"("job_id", "generation", "ordinal");

-- CreateIndex
CREATE INDEX "artifacts_job_id_kind_committed_at_idx" ON "artifacts"("job_id", "kind", "committed_at");

-- CreateIndex
CREATE UNIQUE INDEX "models_artifact_id_key" ON "models"("artifact_id");

-- CreateIndex
CREATE INDEX "models_account_id_created_at_name_idx" ON "models"("account_id", "created_at", "name");

-- CreateIndex
CREATE INDEX "models_job_id_idx" ON "models"("job_id");

-- CreateIndex
CREATE INDEX "job_events_job_id_id_idx" ON "job_events"("job_id", "id");

-- CreateIndex
CREATE INDEX "outbox_messages_delivered_at_claimed_until_idx" ON "outbox_messages"("delivered_at", "claimed_until");

-- CreateIndex
CREATE INDEX "outbox_messages_workflow_id_id_idx" ON "outbox_messages"("workflow_id", "id");

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "model_servers_token_hash_key" ON "model_servers"("token_hash");

-- CreateIndex
CREATE UNIQUE INDEX "stored_rows_account_id_collection_row_hash_key" ON "stored_rows"("account_id", "collection", "row_hash");

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "dataset_versions" ADD CONSTRAINT "dataset_versions_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "training_jobs" ADD CONSTRAINT "training_jobs_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "training_jobs" ADD CONSTRAINT "training_jobs_dataset_version_id_fkey" FOREIGN KEY ("dataset_version_id") REFERENCES "dataset_versions"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "training_jobs"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "training_steps" ADD CONSTRAINT "training_steps_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "training_jobs"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "training_jobs"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "models" ADD CONSTRAINT "models_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "models" ADD CONSTRAINT "models_artifact_id_fkey" FOREIGN KEY ("artifact_id") REFERENCES "artifacts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "evaluations" ADD CONSTRAINT "evaluations_artifact_id_fkey" FOREIGN KEY ("artifact_id") REFERENCES "artifacts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "job_events" ADD CONSTRAINT "job_events_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "training_jobs"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "stored_rows" ADD CONSTRAINT "stored_rows_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
