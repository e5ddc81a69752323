-- Figures of a step that only some methods of training have, by their names in TRL.
ALTER TABLE "training_steps" ADD COLUMN "series" JSONB;
