-- The list of data sets names the jobs that evaluate on them.
CREATE INDEX CONCURRENTLY "training_jobs_evaluation_key_idx" ON "training_jobs" (("spec"->>'evaluationKey')) WHERE "spec"->>'evaluationKey' IS NOT NULL;
