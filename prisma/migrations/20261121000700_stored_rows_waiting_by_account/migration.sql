-- Waiting rows are taken account by account; replaces the index by age alone, which nothing reads any more.
CREATE INDEX "stored_rows_waiting_by_account_idx" ON "stored_rows"("account_id", "created_at") WHERE "embedding" IS NULL;
DROP INDEX "stored_rows_waiting_idx";
