CREATE INDEX CONCURRENTLY "usage_days_day_idx" ON "usage_days"("day");
