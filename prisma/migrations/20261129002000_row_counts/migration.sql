ALTER TABLE "attempts" ADD COLUMN "row_counts" JSONB;
