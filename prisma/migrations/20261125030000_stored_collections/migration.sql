-- Rows of each id, counted by a trigger, so that processes of the old version count too.
CREATE TABLE "stored_collections" (
    "account_id" UUID NOT NULL,
    "collection" TEXT NOT NULL,
    "row_count" INTEGER NOT NULL,

    CONSTRAINT "stored_collections_pkey" PRIMARY KEY ("account_id", "collection")
);

ALTER TABLE "stored_collections" ADD CONSTRAINT "stored_collections_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Collections are taken in one order, so that two statements that change several of them do not deadlock.
CREATE FUNCTION "count_stored_rows"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "stored_collections" ("account_id", "collection", "row_count")
    SELECT "account_id", "collection", count(*) FROM "changed" GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT ("account_id", "collection")
      DO UPDATE SET "row_count" = "stored_collections"."row_count" + excluded."row_count";
  ELSE
    PERFORM FROM "stored_collections" WHERE ("account_id", "collection") IN (SELECT "account_id", "collection" FROM "changed")
    ORDER BY "account_id", "collection" FOR UPDATE;
    UPDATE "stored_collections" c SET "row_count" = c."row_count" - gone."row_count"
    FROM (SELECT "account_id", "collection", count(*) AS "row_count" FROM "changed" GROUP BY 1, 2) AS gone
    WHERE c."account_id" = gone."account_id" AND c."collection" = gone."collection";
    DELETE FROM "stored_collections"
    WHERE ("account_id", "collection") IN (SELECT "account_id", "collection" FROM "changed") AND "row_count" = 0;
  END IF;
  RETURN NULL;
END
$$;

-- Creating a trigger keeps writers away until the commit, so the first count misses nothing.
CREATE TRIGGER "stored_rows_added" AFTER INSERT ON "stored_rows"
  REFERENCING NEW TABLE AS "changed" FOR EACH STATEMENT EXECUTE FUNCTION "count_stored_rows"();
CREATE TRIGGER "stored_rows_removed" AFTER DELETE ON "stored_rows"
  REFERENCING OLD TABLE AS "changed" FOR EACH STATEMENT EXECUTE FUNCTION "count_stored_rows"();

INSERT INTO "stored_collections" ("account_id", "collection", "row_count")
SELECT "account_id", "collection", count(*) FROM "stored_rows" GROUP BY 1, 2;
