-- As the migration before, for events. PostgreSQL writes all three indexes of each partition again, and keeps events locked meanwhile
-- (docs/operating/upgrade.md says for how long). A column of a partition has the collation of its table, so it can't be done day by day.
ALTER TABLE "business_event" ALTER COLUMN "organization_id" TYPE TEXT COLLATE "C";
