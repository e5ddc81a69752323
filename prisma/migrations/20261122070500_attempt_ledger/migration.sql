-- What the ledger of an attempt counts from: when its start-up was over, what it saved last, how old the work was that it began with.
ALTER TABLE "attempts"
  ADD COLUMN "working_at" TIMESTAMPTZ(6),
  ADD COLUMN "saved_step" INTEGER,
  ADD COLUMN "saved_at" TIMESTAMPTZ(6),
  ADD COLUMN "from_at" TIMESTAMPTZ(6);

-- Of attempts from before: as far as it is known.
UPDATE "attempts" a SET
  "working_at" = (SELECT min(e.at) FROM "job_events" e WHERE e.job_id = a.job_id AND e.attempt = a.number
    AND e.status IN ('TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL')),
  ("saved_step", "saved_at") = (SELECT s.step, s.created_at FROM "artifacts" s
    WHERE s.job_id = a.job_id AND s.attempt = a.number AND s.committed_at IS NOT NULL ORDER BY s.step DESC, s.created_at LIMIT 1),
  "from_at" = (SELECT s.created_at FROM "artifacts" s WHERE s.id = a.from_artifact_id);
