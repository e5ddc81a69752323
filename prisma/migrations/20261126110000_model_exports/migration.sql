-- Merged exports: a program merges a tuned model into its base, and a worker keeps the verified files.
CREATE TABLE "model_exports" (
  "id" UUID NOT NULL,
  "account_id" UUID NOT NULL,
  "model_name" TEXT NOT NULL,
  "request" JSONB NOT NULL,
  "status" TEXT NOT NULL,
  "message" TEXT,
  "run_number" INTEGER NOT NULL DEFAULT 0,
  "run_is_open" BOOLEAN NOT NULL DEFAULT false,
  "token_hash" BYTEA,
  "failure" TEXT,
  "files" JSONB NOT NULL DEFAULT '[]',
  "committed_at" TIMESTAMPTZ(6),
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "finished_at" TIMESTAMPTZ(6),
  CONSTRAINT "model_exports_pkey" PRIMARY KEY ("id")
);
ALTER TABLE "model_exports" ADD CONSTRAINT "model_exports_account_id_fkey"
  FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
CREATE UNIQUE INDEX "model_exports_usable_key" ON "model_exports"("account_id", "model_name") WHERE "status" <> 'FAILED';
CREATE UNIQUE INDEX "model_exports_token_hash_key" ON "model_exports"("token_hash");
CREATE INDEX "model_exports_finished_at_idx" ON "model_exports"("finished_at");
CREATE INDEX "model_exports_open_idx" ON "model_exports"("account_id") WHERE "finished_at" IS NULL;

CREATE FUNCTION count_model_exports() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_stored_bytes(NEW.account_id, file_bytes(NEW.files)); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_stored_bytes(OLD.account_id, -file_bytes(OLD.files)); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_new AFTER INSERT OR DELETE ON model_exports
  FOR EACH ROW EXECUTE FUNCTION count_model_exports();
CREATE TRIGGER count_changed AFTER UPDATE ON model_exports FOR EACH ROW
  WHEN (OLD.files IS DISTINCT FROM NEW.files) EXECUTE FUNCTION count_model_exports();
