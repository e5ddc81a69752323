-- Columns are null in rows of earlier releases, and where a step has no validation.
ALTER TABLE "training_steps"
  ADD COLUMN "grad_norm" DOUBLE PRECISION,
  ADD COLUMN "tokens_per_second" DOUBLE PRECISION,
  ADD COLUMN "valid_loss" DOUBLE PRECISION,
  ADD COLUMN "valid_token_accuracy" DOUBLE PRECISION,
  ADD COLUMN "valid_rows" INTEGER;
