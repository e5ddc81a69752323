-- {"tuned": true, "base": false}: whether each model finds the better answer of a pair likelier. Null for a row that is no pair.
ALTER TABLE "evaluations" ADD COLUMN "prefers_chosen" JSONB;
