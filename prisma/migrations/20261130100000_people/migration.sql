-- Somebody who signs in with the identity provider stands in an account as a key without a secret.
ALTER TABLE "api_keys" ADD COLUMN "person_subject" TEXT, ADD COLUMN "person_mail" TEXT, ADD COLUMN "claims_at" TIMESTAMPTZ(6);

ALTER TABLE "audit_events" ADD COLUMN "person_subject" TEXT, ADD COLUMN "person_mail" TEXT;
