-- AlterTable
ALTER TABLE "attempts" ADD COLUMN     "heard_at" TIMESTAMPTZ(6);
