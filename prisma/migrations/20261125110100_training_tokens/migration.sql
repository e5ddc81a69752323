-- Tokens that the job has trained on since its first step. Null in rows of earlier releases.
ALTER TABLE "training_steps" ADD COLUMN "tokens" BIGINT;
