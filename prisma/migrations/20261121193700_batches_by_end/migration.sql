-- CreateIndex
CREATE INDEX CONCURRENTLY "inference_batches_finished_at_idx" ON "inference_batches"("finished_at");
