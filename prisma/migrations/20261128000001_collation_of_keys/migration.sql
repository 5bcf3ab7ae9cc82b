-- Text in a key is compared byte by byte. In the database's own collation an upgrade of the operating system may change the order, and an index then
-- misses rows. PostgreSQL writes the indexes of these columns again, under a lock: the tables are small.
ALTER TABLE "webhook_endpoint" ALTER COLUMN "organization_id" TYPE TEXT COLLATE "C";
ALTER TABLE "endpoint_change" ALTER COLUMN "organization_id" TYPE TEXT COLLATE "C";
ALTER TABLE "undelivered_event" ALTER COLUMN "organization_id" TYPE TEXT COLLATE "C";
ALTER TABLE "idempotency_key" ALTER COLUMN "organization_id" TYPE TEXT COLLATE "C", ALTER COLUMN "key" TYPE TEXT COLLATE "C";
