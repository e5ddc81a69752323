-- The streams of a revoked key and of an ended session end at once.
CREATE FUNCTION announce_access_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('access_ends', OLD.id::text);
  RETURN NULL;
END $$;
CREATE TRIGGER api_keys_announce_end AFTER UPDATE OF "revoked_at", "expires_at" OR DELETE ON "api_keys"
  FOR EACH ROW EXECUTE FUNCTION announce_access_end();
CREATE TRIGGER console_sessions_announce_end AFTER DELETE ON "console_sessions"
  FOR EACH ROW EXECUTE FUNCTION announce_access_end();
