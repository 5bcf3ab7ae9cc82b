-- The previous version neither reads nor writes the column, and knows repetitions by "idempotency_key". During the upgrade, a request may
-- be done once more if its repetition reaches a process of the other version.
ALTER TABLE "endpoint_change" ADD COLUMN "request" BYTEA;
