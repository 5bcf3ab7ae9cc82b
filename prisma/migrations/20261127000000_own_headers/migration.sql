-- The previous version neither reads nor writes the column: its edits keep the headers, and its dispatchers send without them.
ALTER TABLE "webhook_endpoint" ADD COLUMN "headers" JSONB;
