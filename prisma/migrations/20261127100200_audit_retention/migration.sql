-- The audit trail only grows, but for old events that retention removes. ANNEAL_AUDIT_DAYS is at least this old.
CREATE FUNCTION refuse_audit_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.at > now() - interval '90 days' THEN
    RAISE EXCEPTION 'audit_events is append-only';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER audit_events_keep_recent BEFORE DELETE ON "audit_events"
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_removal();
DROP TRIGGER audit_events_append_only ON "audit_events";
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR TRUNCATE ON "audit_events" EXECUTE FUNCTION refuse_audit_change();
