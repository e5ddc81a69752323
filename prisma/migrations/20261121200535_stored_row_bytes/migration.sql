-- Counted as rows come and go: adding them up for each request would read them all.
ALTER TABLE "accounts" ADD COLUMN "stored_row_bytes" BIGINT NOT NULL DEFAULT 0;

UPDATE "accounts" SET "stored_row_bytes" = total.bytes
FROM (
  SELECT "account_id", sum(octet_length("row"::text) + octet_length("text")) AS bytes
  FROM "stored_rows" GROUP BY "account_id"
) AS total
WHERE total."account_id" = "accounts"."id";
