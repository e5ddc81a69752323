-- Each file of rollouts is committed once for a step of a job.
CREATE UNIQUE INDEX CONCURRENTLY "artifacts_rollouts_once_idx" ON "artifacts" ("job_id", "step", (("files"->0->>'name')))
  WHERE "kind" = 'rollouts' AND "committed_at" IS NOT NULL;
