-- A job that `anneal import` has brought from another installation: where it ran, and its id there.
ALTER TABLE "training_jobs" ADD COLUMN "imported_from" UUID, ADD COLUMN "imported_job_id" INTEGER;
