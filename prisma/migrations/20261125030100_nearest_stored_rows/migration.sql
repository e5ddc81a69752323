-- Used for ids with many rows; src/repositories/stored-row-search.ts says how.
CREATE INDEX CONCURRENTLY "stored_rows_nearest_idx" ON "stored_rows" USING hnsw ("embedding" vector_cosine_ops);
