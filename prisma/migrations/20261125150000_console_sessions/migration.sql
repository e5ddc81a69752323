-- Sessions of the console. A session belongs to the API key that opened it, and goes with it.
CREATE TABLE "console_sessions" (
  "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  "account_id" UUID NOT NULL,
  "api_key_id" TEXT NOT NULL,
  "link_hash" BYTEA,
  "cookie_hash" BYTEA,
  "page_token_hash" BYTEA,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "expires_at" TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT "console_sessions_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "console_sessions_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  -- Either a link that nobody has opened, or an open session.
  CONSTRAINT "console_sessions_link_or_open" CHECK (
    ("link_hash" IS NOT NULL AND "cookie_hash" IS NULL AND "page_token_hash" IS NULL)
    OR ("link_hash" IS NULL AND "cookie_hash" IS NOT NULL AND "page_token_hash" IS NOT NULL))
);
CREATE UNIQUE INDEX "console_sessions_link_hash_key" ON "console_sessions"("link_hash");
CREATE UNIQUE INDEX "console_sessions_cookie_hash_key" ON "console_sessions"("cookie_hash");
CREATE INDEX "console_sessions_account_id_created_at_id_idx" ON "console_sessions"("account_id", "created_at", "id");
CREATE INDEX "console_sessions_api_key_id_idx" ON "console_sessions"("api_key_id");
CREATE INDEX "console_sessions_expires_at_idx" ON "console_sessions"("expires_at");
