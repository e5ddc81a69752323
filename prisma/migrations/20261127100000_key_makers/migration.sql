-- The key that made a key, and the session of the console by which it acted. Null for the operator's keys and for older ones.
ALTER TABLE "api_keys" ADD COLUMN "maker_key_id" TEXT, ADD COLUMN "maker_session_id" UUID;
