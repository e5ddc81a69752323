-- Files that arrive in parts. The bytes of a part are those of a hidden data set, which counts them.
CREATE TABLE "file_uploads" (
  "id" UUID NOT NULL,
  "account_id" UUID NOT NULL,
  "file_name" TEXT NOT NULL,
  "purpose" TEXT NOT NULL,
  "size_bytes" BIGINT NOT NULL,
  "life_seconds" INTEGER,
  "file_id" TEXT,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "cancelled_at" TIMESTAMPTZ(6),
  "completed_at" TIMESTAMPTZ(6),
  CONSTRAINT "file_uploads_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "file_uploads_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
-- For the limit of an account.
CREATE INDEX "file_uploads_account_id_created_at_id_idx" ON "file_uploads"("account_id", "created_at", "id");
-- For retention.
CREATE INDEX "file_uploads_created_at_idx" ON "file_uploads"("created_at");

CREATE TABLE "file_upload_parts" (
  "id" UUID NOT NULL,
  "upload_id" UUID NOT NULL,
  "size_bytes" BIGINT NOT NULL,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "file_upload_parts_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "file_upload_parts_upload_id_fkey" FOREIGN KEY ("upload_id") REFERENCES "file_uploads"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "file_upload_parts_id_fkey" FOREIGN KEY ("id") REFERENCES "dataset_versions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "file_upload_parts_upload_id_idx" ON "file_upload_parts"("upload_id");
