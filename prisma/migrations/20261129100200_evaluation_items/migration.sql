-- Of a prompt for reinforcement: what the graders of the job read, and the scores of both answers once they are computed, as judges
-- are asked once. Null for other rows.
ALTER TABLE "evaluations" ADD COLUMN "item" JSONB, ADD COLUMN "scores" JSONB;
