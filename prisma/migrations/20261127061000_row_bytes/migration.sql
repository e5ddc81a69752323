-- Bytes in the database have a limit of their own: `row_bytes` counts them apart from the objects of `bytes`, in the transaction of
-- the rows. The text of stored rows is still counted in `accounts.stored_row_bytes`.
ALTER TABLE "account_storage" ADD COLUMN "row_bytes" BIGINT NOT NULL DEFAULT 0;
-- The part of a batch or an evaluation that lies in rows: its request, and its results unless they are an object.
ALTER TABLE "inference_batches" ADD COLUMN "row_bytes" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "model_evaluations" ADD COLUMN "row_bytes" BIGINT NOT NULL DEFAULT 0;
-- The bytes of a large `spec`. An ordinary one has 1 to 3 kB and counts nothing, so that submits of an account need not wait for
-- each other.
ALTER TABLE "training_jobs" ADD COLUMN "row_bytes" BIGINT NOT NULL DEFAULT 0;

CREATE FUNCTION add_row_bytes(account uuid, change bigint) RETURNS void LANGUAGE sql AS $$
  insert into account_storage as stored (account_id, row_bytes) select account, change where change <> 0
  on conflict (account_id) do update set row_bytes = stored.row_bytes + excluded.row_bytes
$$;

CREATE FUNCTION measure_spec() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.row_bytes := octet_length(NEW.spec::text);
  IF NEW.row_bytes <= 8192 THEN NEW.row_bytes := 0; END IF;
  RETURN NEW;
END $$;

-- For rows that are written one at a time.
CREATE FUNCTION count_row_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_row_bytes(NEW.account_id, NEW.row_bytes - coalesce(OLD.row_bytes, 0));
  RETURN NULL;
END $$;

-- For all rows of a statement at once: a column of theirs, times a number of bytes.
CREATE FUNCTION count_bytes_of_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SELECT add_row_bytes(account_id, sum(%I)::bigint * %s) FROM changed GROUP BY account_id', TG_ARGV[0], TG_ARGV[1]);
  RETURN NULL;
END $$;

-- A stored row has a vector of 384 numbers in the table and in an index: 3,500 bytes.
CREATE FUNCTION count_bytes_of_more_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_row_bytes(account_id, sum(row_count) * 3500) FROM (
    SELECT account_id, row_count FROM changed UNION ALL SELECT account_id, -row_count FROM before) AS counts
  GROUP BY account_id;
  RETURN NULL;
END $$;

-- Writers of what has rows already wait, so that each row counts once.
LOCK TABLE "stored_collections", "evals", "stored_responses" IN SHARE ROW EXCLUSIVE MODE;

CREATE TRIGGER measure_spec BEFORE INSERT ON training_jobs FOR EACH ROW EXECUTE FUNCTION measure_spec();
CREATE TRIGGER count_row_bytes AFTER INSERT ON training_jobs FOR EACH ROW
  WHEN (NEW.row_bytes > 0) EXECUTE FUNCTION count_row_bytes();
CREATE TRIGGER uncount_row_bytes AFTER DELETE ON training_jobs REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('row_bytes', '-1');

CREATE TRIGGER count_row_bytes AFTER INSERT ON inference_batches FOR EACH ROW EXECUTE FUNCTION count_row_bytes();
CREATE TRIGGER count_changed_row_bytes AFTER UPDATE ON inference_batches FOR EACH ROW
  WHEN (OLD.row_bytes IS DISTINCT FROM NEW.row_bytes) EXECUTE FUNCTION count_row_bytes();
CREATE TRIGGER uncount_row_bytes AFTER DELETE ON inference_batches REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('row_bytes', '-1');

CREATE TRIGGER count_row_bytes AFTER INSERT ON model_evaluations FOR EACH ROW EXECUTE FUNCTION count_row_bytes();
CREATE TRIGGER count_changed_row_bytes AFTER UPDATE ON model_evaluations FOR EACH ROW
  WHEN (OLD.row_bytes IS DISTINCT FROM NEW.row_bytes) EXECUTE FUNCTION count_row_bytes();
CREATE TRIGGER uncount_row_bytes AFTER DELETE ON model_evaluations REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('row_bytes', '-1');

CREATE TRIGGER count_row_bytes AFTER INSERT ON stored_responses REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('size_bytes', '1');
CREATE TRIGGER uncount_row_bytes AFTER DELETE ON stored_responses REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('size_bytes', '-1');

CREATE TRIGGER count_row_bytes AFTER INSERT ON stored_collections REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('row_count', '3500');
CREATE TRIGGER count_changed_row_bytes AFTER UPDATE ON stored_collections REFERENCING NEW TABLE AS changed OLD TABLE AS before
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_more_rows();
CREATE TRIGGER uncount_row_bytes AFTER DELETE ON stored_collections REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('row_count', '-3500');

-- Evals have counted among the objects. The size of an eval never changes.
DROP TRIGGER count_new ON evals;
DROP TRIGGER count_changed ON evals;
CREATE TRIGGER count_row_bytes AFTER INSERT ON evals REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('size_bytes', '1');
CREATE TRIGGER uncount_row_bytes AFTER DELETE ON evals REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_bytes_of_rows('size_bytes', '-1');
INSERT INTO account_storage AS stored (account_id, bytes)
SELECT account_id, -sum(size_bytes) FROM evals GROUP BY account_id
ON CONFLICT (account_id) DO UPDATE SET bytes = stored.bytes + excluded.bytes;

INSERT INTO account_storage AS stored (account_id, row_bytes)
SELECT account_id, sum(bytes) FROM (
  SELECT account_id, row_count * 3500::bigint AS bytes FROM stored_collections
  UNION ALL SELECT account_id, size_bytes FROM evals
  UNION ALL SELECT account_id, size_bytes FROM stored_responses
) AS counted GROUP BY account_id
ON CONFLICT (account_id) DO UPDATE SET row_bytes = stored.row_bytes + excluded.row_bytes;
