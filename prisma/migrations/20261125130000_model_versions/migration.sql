-- A published model with a custom name becomes the next version of that name. A trigger numbers it, so that models which
-- processes of the old version publish are numbered too. A number is never used twice.
CREATE TABLE "model_names" (
  "account_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "last_version" INTEGER NOT NULL,
  CONSTRAINT "model_names_pkey" PRIMARY KEY ("account_id", "name")
);
ALTER TABLE "model_names" ADD CONSTRAINT "model_names_account_id_fkey"
  FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "model_versions" (
  "account_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "version" INTEGER NOT NULL,
  "model_name" TEXT NOT NULL,
  CONSTRAINT "model_versions_pkey" PRIMARY KEY ("account_id", "name", "version")
);
CREATE UNIQUE INDEX "model_versions_model_name_key" ON "model_versions"("model_name");
ALTER TABLE "model_versions" ADD CONSTRAINT "model_versions_account_id_name_fkey"
  FOREIGN KEY ("account_id", "name") REFERENCES "model_names"("account_id", "name") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "model_versions" ADD CONSTRAINT "model_versions_model_name_fkey"
  FOREIGN KEY ("model_name") REFERENCES "models"("name") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "model_aliases" (
  "account_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "alias" TEXT NOT NULL,
  "version" INTEGER NOT NULL,
  "moved_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "model_aliases_pkey" PRIMARY KEY ("account_id", "name", "alias")
);
ALTER TABLE "model_aliases" ADD CONSTRAINT "model_aliases_account_id_name_version_fkey"
  FOREIGN KEY ("account_id", "name", "version") REFERENCES "model_versions"("account_id", "name", "version")
  ON DELETE CASCADE ON UPDATE CASCADE;

-- The same rule as `canBeAsked` in src/domain/model-reference.ts.
CREATE FUNCTION is_model_name(given text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  select coalesce(given <> '' and given !~ '@|^[0-9a-f]{64}$|^ftjob-\d+:', false)
$$;

CREATE FUNCTION number_model() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  given text;
  number integer;
BEGIN
  SELECT custom_model_name INTO given FROM training_jobs WHERE id = NEW.job_id;
  IF NOT is_model_name(given) THEN RETURN NULL; END IF;
  INSERT INTO model_names AS known (account_id, name, last_version) VALUES (NEW.account_id, given, 1)
  ON CONFLICT (account_id, name) DO UPDATE SET last_version = known.last_version + 1
  RETURNING last_version INTO number;
  INSERT INTO model_versions (account_id, name, version, model_name) VALUES (NEW.account_id, given, number, NEW.name);
  RETURN NULL;
END $$;

-- Creating the trigger keeps publishers away until the commit, so that the numbers below miss no model.
CREATE TRIGGER number_new AFTER INSERT ON models FOR EACH ROW EXECUTE FUNCTION number_model();

WITH numbered AS (
  SELECT m.account_id, j.custom_model_name AS given, m.name,
    row_number() OVER (PARTITION BY m.account_id, j.custom_model_name ORDER BY m.created_at, m.name) AS number
  FROM models m JOIN training_jobs j ON j.id = m.job_id WHERE is_model_name(j.custom_model_name)),
names AS (
  INSERT INTO model_names (account_id, name, last_version)
  SELECT account_id, given, max(number) FROM numbered GROUP BY 1, 2)
INSERT INTO model_versions (account_id, name, version, model_name)
SELECT account_id, given, number, name FROM numbered;
