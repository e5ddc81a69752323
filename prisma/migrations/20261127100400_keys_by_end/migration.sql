CREATE INDEX CONCURRENTLY "api_keys_ended_idx" ON "api_keys"((least("revoked_at", "expires_at"))) WHERE least("revoked_at", "expires_at") IS NOT NULL;
