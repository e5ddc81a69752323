-- Which of the cluster queue's priority classes an account's jobs have.
ALTER TABLE "accounts" ADD COLUMN "priority" TEXT NOT NULL DEFAULT 'normal' CHECK ("priority" IN ('low', 'normal', 'high'));
