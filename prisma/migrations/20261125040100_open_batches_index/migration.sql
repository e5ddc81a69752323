CREATE INDEX CONCURRENTLY "inference_batches_open_idx" ON "inference_batches"("account_id") WHERE "state" = 'running';
