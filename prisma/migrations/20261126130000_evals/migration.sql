-- Evals of OpenAI's API: testing criteria that are kept. Their runs are evaluations.
CREATE TABLE "evals" (
  "id" UUID NOT NULL,
  "account_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "metadata" TEXT,
  "definition" TEXT NOT NULL,
  "size_bytes" INTEGER NOT NULL,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "evals_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "evals_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "evals_account_id_created_at_id_idx" ON "evals"("account_id", "created_at", "id");

CREATE FUNCTION count_evals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_stored_bytes(NEW.account_id, NEW.size_bytes); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_stored_bytes(OLD.account_id, -OLD.size_bytes); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_new AFTER INSERT OR DELETE ON evals FOR EACH ROW EXECUTE FUNCTION count_evals();
CREATE TRIGGER count_changed AFTER UPDATE ON evals FOR EACH ROW
  WHEN (OLD.size_bytes IS DISTINCT FROM NEW.size_bytes) EXECUTE FUNCTION count_evals();

ALTER TABLE "model_evaluations" ADD COLUMN "eval_id" UUID;
ALTER TABLE "model_evaluations" ADD CONSTRAINT "model_evaluations_eval_id_fkey"
  FOREIGN KEY ("eval_id") REFERENCES "evals"("id") ON DELETE CASCADE ON UPDATE CASCADE;
