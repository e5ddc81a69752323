CREATE TABLE "workers" (
    "id" UUID NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "slots" INTEGER,
    "polling" BOOLEAN NOT NULL,
    "activities" INTEGER NOT NULL,
    "reaped" JSONB NOT NULL DEFAULT '{}',
    "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
    "seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),

    CONSTRAINT "workers_pkey" PRIMARY KEY ("id")
);
