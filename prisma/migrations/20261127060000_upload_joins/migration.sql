-- One request at a time joins the parts of an upload to the data set `joining_version_id`, until `joining_until` at the longest.
ALTER TABLE "file_uploads" ADD COLUMN "joining_version_id" UUID, ADD COLUMN "joining_until" TIMESTAMPTZ(6);
-- The MD5 sum that the parts have in the order with this hash.
ALTER TABLE "file_uploads" ADD COLUMN "order_hash" TEXT, ADD COLUMN "order_md5" TEXT;
