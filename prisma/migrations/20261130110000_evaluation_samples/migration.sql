-- Of a prompt for reinforcement: what graders read of both answers beside their text. Null for other rows, and for those that an
-- earlier release has written.
ALTER TABLE "evaluations" ADD COLUMN "samples" JSONB;
