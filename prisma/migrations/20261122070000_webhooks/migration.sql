-- Where an account wants to be told of its jobs. `secrets` names them; their bytes are derived from ANNEAL_SECRET.
CREATE TABLE "webhook_endpoints" (
  "id" UUID NOT NULL,
  "account_id" UUID NOT NULL,
  "url" TEXT NOT NULL,
  "description" TEXT NOT NULL,
  "statuses" TEXT[],
  "secrets" JSONB NOT NULL,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "last_success_at" TIMESTAMPTZ(6),
  "disabled_at" TIMESTAMPTZ(6),
  "disabled_reason" TEXT,
  "claimed_until" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "webhook_endpoints_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "webhook_endpoints_account_id_created_at_id_idx" ON "webhook_endpoints"("account_id", "created_at", "id");

-- A move of a job on its way to one endpoint. No foreign keys: a move must neither wait for nor fail with the removal of an endpoint.
CREATE TABLE "webhook_deliveries" (
  "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  "sequence" BIGSERIAL NOT NULL,
  "endpoint_id" UUID NOT NULL,
  "job_id" INTEGER NOT NULL,
  "status" TEXT NOT NULL,
  "status_reason" TEXT,
  "model_name" TEXT,
  "attempt" INTEGER,
  "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "state" TEXT NOT NULL DEFAULT 'pending' CHECK ("state" IN ('pending', 'delivered', 'failed')),
  "due_at" TIMESTAMPTZ(6) DEFAULT now(),
  "retry_until" TIMESTAMPTZ(6) NOT NULL DEFAULT now() + interval '72 hours',
  "try_count" INTEGER NOT NULL DEFAULT 0,
  "replayed_at" TIMESTAMPTZ(6),
  "attempts" JSONB NOT NULL DEFAULT '[]',
  CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "webhook_deliveries_endpoint_id_sequence_idx" ON "webhook_deliveries"("endpoint_id", "sequence");
CREATE INDEX "webhook_deliveries_created_at_idx" ON "webhook_deliveries"("created_at");
-- What waits: over all endpoints, of one, and of one job at one, in order.
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries"("due_at", "endpoint_id") WHERE "due_at" IS NOT NULL;
CREATE INDEX "webhook_deliveries_due_of_endpoint_idx" ON "webhook_deliveries"("endpoint_id", "due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "webhook_deliveries_pending_idx" ON "webhook_deliveries"("endpoint_id", "job_id", "sequence") WHERE "state" = 'pending';

-- In the transaction of every move, whoever makes it: also a process of the release before.
CREATE FUNCTION announce_job_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_deliveries (endpoint_id, job_id, status, status_reason, model_name, attempt)
  SELECT e.id, j.id, NEW.status, NEW.reason, j.model_name, coalesce(NEW.attempt, nullif(j.current_attempt, 0))
  FROM training_jobs j JOIN webhook_endpoints e ON e.account_id = j.account_id
  WHERE j.id = NEW.job_id AND e.disabled_at IS NULL AND (e.statuses = '{}' OR NEW.status = ANY (e.statuses));
  IF FOUND THEN
    PERFORM pg_notify('webhooks', '');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER job_events_announce AFTER INSERT ON "job_events" FOR EACH ROW WHEN (NEW.kind = 'status') EXECUTE FUNCTION announce_job_move();
