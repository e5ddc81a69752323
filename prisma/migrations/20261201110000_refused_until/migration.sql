-- A newer token of a person revives the person's key. The tokens from before the revocation stay refused.
ALTER TABLE "api_keys" ADD COLUMN "refused_until" TIMESTAMPTZ(6);
