-- herald: no transaction
CREATE UNIQUE INDEX CONCURRENTLY "endpoint_change_request_key" ON "endpoint_change"("request");
