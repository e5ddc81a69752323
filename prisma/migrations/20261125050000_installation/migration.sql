-- Names this database for ever. The bucket holds the same id, so that no sweep runs with another installation's database.
CREATE TABLE "installation" (
  "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  "only" BOOLEAN NOT NULL DEFAULT true CHECK ("only"),
  CONSTRAINT "installation_pkey" PRIMARY KEY ("only")
);
INSERT INTO "installation" DEFAULT VALUES;
