-- A replica of a model server. `model_servers.endpoint` stays, written for the release before this one; drop it in a later one.
CREATE TABLE "model_server_endpoints" (
  "base_model" TEXT NOT NULL,
  "generation" INTEGER NOT NULL,
  "instance" TEXT NOT NULL,
  "url" TEXT NOT NULL,
  "engine" TEXT NOT NULL,
  "version" TEXT NOT NULL,
  "ready_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  "seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "model_server_endpoints_pkey" PRIMARY KEY ("base_model", "generation", "instance"),
  CONSTRAINT "model_server_endpoints_base_model_fkey" FOREIGN KEY ("base_model") REFERENCES "model_servers" ("base_model") ON DELETE CASCADE ON UPDATE CASCADE
);
