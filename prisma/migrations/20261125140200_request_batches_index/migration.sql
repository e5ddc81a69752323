CREATE INDEX CONCURRENTLY "inference_batches_requests_idx" ON "inference_batches"("account_id", "created_at", "id") WHERE "kind" = 'requests';
