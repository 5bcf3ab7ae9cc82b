-- `shard` becomes an ordinary column, which statements write: a table that is published refuses each delete if a column of its key is generated.
-- Neither reads nor writes a row.
ALTER TABLE "due" ALTER COLUMN "shard" DROP EXPRESSION;

-- The rows that are there have the right shard: PostgreSQL wrote it. So they are not read for the check.
ALTER TABLE "due" ADD CONSTRAINT "due_shard_of_endpoint" CHECK ("shard" = shard_of("endpoint_id")) NOT VALID;

-- The previous version leaves the shard out. This version writes it, and its rows only cost the comparison. The next release drops both.
CREATE FUNCTION "due_fill_shard"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.shard := public.shard_of(NEW.endpoint_id);
    RETURN NEW;
END
$$;
CREATE TRIGGER "due_fill_shard" BEFORE INSERT ON "due" FOR EACH ROW WHEN (NEW.shard IS NULL) EXECUTE FUNCTION "due_fill_shard"();
