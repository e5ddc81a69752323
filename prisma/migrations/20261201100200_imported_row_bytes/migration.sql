-- An import writes the attempts, steps, events and answers of a job that this installation has not bounded: the bytes of its record
-- count in the row of the job. Nothing else changes the column.
CREATE TRIGGER count_changed_row_bytes AFTER UPDATE OF row_bytes ON training_jobs FOR EACH ROW
  WHEN (OLD.row_bytes IS DISTINCT FROM NEW.row_bytes) EXECUTE FUNCTION count_row_bytes();
