-- Pods of Python graders that are wanted, and where they are.
CREATE TABLE "grader_pods" (
  "name" TEXT NOT NULL,
  "account_id" UUID NOT NULL,
  "image_tag" TEXT NOT NULL,
  "asked_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "granted_at" TIMESTAMPTZ(6),
  "address" TEXT,
  "message" TEXT,
  "refused" BOOLEAN NOT NULL DEFAULT false,
  CONSTRAINT "grader_pods_pkey" PRIMARY KEY ("name")
);
CREATE INDEX "grader_pods_account_id_idx" ON "grader_pods"("account_id");
ALTER TABLE "grader_pods" ADD CONSTRAINT "grader_pods_account_id_fkey"
  FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;
