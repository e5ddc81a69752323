-- For the removal of old policies, over all jobs. Few policies live at once.
CREATE INDEX CONCURRENTLY "artifacts_policies_idx" ON "artifacts"("id") WHERE "kind" = 'policy';
