CREATE INDEX CONCURRENTLY "usage_days_api_key_id_idx" ON "usage_days"("api_key_id");
