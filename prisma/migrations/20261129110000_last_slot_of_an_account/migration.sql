-- When an account got its last slot, which says whose turn is next.
CREATE INDEX CONCURRENTLY "attempts_account_id_granted_at_idx" ON "attempts"("account_id", "granted_at");
