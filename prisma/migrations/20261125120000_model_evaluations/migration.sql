-- An evaluation: up to eight models answer the same rows of a data set, and graders score the answers.
CREATE TABLE "model_evaluations" (
  "id" UUID NOT NULL,
  "account_id" UUID NOT NULL,
  "api_key_id" TEXT NOT NULL,
  "dataset_id" TEXT NOT NULL,
  "data_key" TEXT NOT NULL,
  "request" JSONB NOT NULL,
  "model_count" INTEGER NOT NULL,
  "max_rows" INTEGER NOT NULL,
  "status" TEXT NOT NULL,
  "message" TEXT,
  "rows_key" TEXT,
  "row_count" INTEGER,
  "plan" JSONB,
  "summary" JSONB,
  "stored_bytes" BIGINT NOT NULL DEFAULT 0,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "finished_at" TIMESTAMPTZ(6),
  CONSTRAINT "model_evaluations_pkey" PRIMARY KEY ("id")
);
ALTER TABLE "model_evaluations" ADD CONSTRAINT "model_evaluations_account_id_fkey"
  FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
CREATE INDEX "model_evaluations_account_id_created_at_id_idx" ON "model_evaluations"("account_id", "created_at", "id");
CREATE INDEX "model_evaluations_finished_at_idx" ON "model_evaluations"("finished_at");
CREATE INDEX "model_evaluations_open_idx" ON "model_evaluations"("account_id") WHERE "finished_at" IS NULL;

CREATE TABLE "model_evaluation_chunks" (
  "evaluation_id" UUID NOT NULL,
  "model" INTEGER NOT NULL,
  "start" INTEGER NOT NULL,
  "results" JSONB NOT NULL,
  CONSTRAINT "model_evaluation_chunks_pkey" PRIMARY KEY ("evaluation_id", "model", "start")
);
ALTER TABLE "model_evaluation_chunks" ADD CONSTRAINT "model_evaluation_chunks_evaluation_id_fkey"
  FOREIGN KEY ("evaluation_id") REFERENCES "model_evaluations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE FUNCTION count_model_evaluations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM add_stored_bytes(NEW.account_id, NEW.stored_bytes); END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM add_stored_bytes(OLD.account_id, -OLD.stored_bytes); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_new AFTER INSERT OR DELETE ON model_evaluations
  FOR EACH ROW EXECUTE FUNCTION count_model_evaluations();
CREATE TRIGGER count_changed AFTER UPDATE ON model_evaluations FOR EACH ROW
  WHEN (OLD.stored_bytes IS DISTINCT FROM NEW.stored_bytes) EXECUTE FUNCTION count_model_evaluations();
