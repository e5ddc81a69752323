CREATE INDEX CONCURRENTLY "dataset_versions_expiry_idx" ON "dataset_versions"("expires_at") WHERE "expires_at" IS NOT NULL;
