CREATE INDEX CONCURRENTLY "api_keys_maker_key_id_idx" ON "api_keys"("maker_key_id") WHERE "maker_key_id" IS NOT NULL;
