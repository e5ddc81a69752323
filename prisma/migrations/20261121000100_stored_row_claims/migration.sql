-- Until then a row that waits for its embedding is taken to be in some worker's hands.
ALTER TABLE "stored_rows" ADD COLUMN "claimed_until" TIMESTAMPTZ(6) NOT NULL DEFAULT now();
