-- Null in rows of earlier releases.
ALTER TABLE "training_steps" ADD COLUMN "token_accuracy" DOUBLE PRECISION;
