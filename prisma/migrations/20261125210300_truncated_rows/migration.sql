ALTER TABLE "attempts" ADD COLUMN "truncated_rows" INTEGER;
