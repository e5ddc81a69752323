-- Scores of a reinforcement job's samples, until the rewards of their step are committed. A score that is there never changes.
CREATE TABLE "grades" (
  "job_id" INTEGER NOT NULL,
  "split" TEXT NOT NULL,
  "step" INTEGER NOT NULL,
  "row" INTEGER NOT NULL,
  "index" INTEGER NOT NULL,
  "grade" JSONB NOT NULL,
  CONSTRAINT "grades_pkey" PRIMARY KEY ("job_id", "split", "step", "row", "index")
);
ALTER TABLE "grades" ADD CONSTRAINT "grades_job_id_fkey"
  FOREIGN KEY ("job_id") REFERENCES "training_jobs"("id") ON DELETE CASCADE ON UPDATE CASCADE;
