CREATE INDEX CONCURRENTLY "dataset_versions_account_id_created_at_id_idx" ON "dataset_versions"("account_id", "created_at", "id");
