-- Answers of /openai/v1/responses, each with the conversation that it ends. JSON is stored as text: jsonb cannot hold a NUL.
CREATE TABLE "stored_responses" (
  "id" UUID NOT NULL,
  "account_id" UUID NOT NULL,
  "conversation" TEXT NOT NULL,
  "response" TEXT NOT NULL,
  "size_bytes" INTEGER NOT NULL,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "stored_responses_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "stored_responses_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
-- For the limits of an account.
CREATE INDEX "stored_responses_account_id_created_at_id_idx" ON "stored_responses"("account_id", "created_at", "id");
-- For retention.
CREATE INDEX "stored_responses_created_at_idx" ON "stored_responses"("created_at");
