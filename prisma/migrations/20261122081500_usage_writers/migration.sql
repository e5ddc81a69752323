-- A process that adds to usage_days, and the last of its batches that is in them: one whose commit was not heard of is sent again.
CREATE TABLE "usage_writers" (
  "id" UUID NOT NULL,
  "batch" INTEGER NOT NULL,
  "written_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "usage_writers_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "usage_writers_written_at_idx" ON "usage_writers" ("written_at");
