-- Finds the jobs that train on a version among several data sets. Alone in its file: it must not run in a transaction.
CREATE INDEX CONCURRENTLY "training_jobs_sources_idx" ON "training_jobs" USING gin (("spec"->'sources') jsonb_path_ops) WHERE "spec"->'sources' IS NOT NULL;
