CREATE INDEX CONCURRENTLY "model_evaluations_eval_id_created_at_id_idx" ON "model_evaluations"("eval_id", "created_at", "id");
