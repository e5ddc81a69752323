CREATE INDEX CONCURRENTLY "training_steps_job_id_at_step_idx" ON "training_steps"("job_id", "at", "step");
