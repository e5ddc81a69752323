-- The item of a prompt, which the graders of a reinforcement job read. Null for other rows.
ALTER TABLE "evaluations" ADD COLUMN "item" JSONB;
