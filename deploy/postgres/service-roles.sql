-- A user for each service, with no more rights than its work takes: for who wants a break-in into one of them to be worth as
-- little as possible. In place of herald_app of roles.sql, and after `herald migrate`, by an administrator, in Herald's database:
--   psql -v api_password=... -v publisher_password=... -v dispatcher_password=... -f deploy/postgres/service-roles.sql
-- Grants name tables and columns, so they are part of an upgrade: run the part below the first three lines again after
-- each `herald migrate`. packages/e2e/test/system/privileges/database-roles.test.ts runs all of Herald with these users.
create role herald_api login password :'api_password';
create role herald_publisher login password :'publisher_password';
create role herald_dispatcher login password :'dispatcher_password';

revoke all on schema public from public;
grant usage on schema public to herald_api, herald_publisher, herald_dispatcher;

-- Ids are made by functions, which are anybody's. Those that make and drop the partitions of a day have the owner's rights.
revoke execute on all functions in schema public from public;
grant execute on function id_of(bytea, bytea), event_key(text, uuid, timestamptz), delivery_id(uuid, uuid)
  to herald_api, herald_publisher, herald_dispatcher;
grant execute on function make_partitions(date), drop_partitions(date, integer) to herald_publisher;

-- The management API keeps endpoints, makes deliveries by hand, and tells publishers whom to catch up, what to send again and what to erase. What
-- publishers and dispatchers have written it reads. Signing secrets it writes, sealed as they are, and never reads.
grant select (id, organization_id, name, url, enabled, events, revision, consecutive_failures, failure_run, failed_at,
    paused_until, failing_told, failing_told_at, disabled_reason, disabled_at, disabled_by, created_at, updated_at)
  on webhook_endpoint to herald_api;
grant insert, update, delete on webhook_endpoint to herald_api;
grant select, insert, update, delete on catch_up to herald_api;
grant insert on erasure, notice to herald_api;
grant select, insert on endpoint_change to herald_api;
grant select, insert on resend to herald_api;
grant update (state, stop_reason, stopped_by, ended_at, due_at) on resend to herald_api;
grant select, insert on delivery, due to herald_api;
grant select, insert, update, delete on idempotency_key to herald_api;
grant select on business_event, attempt, dispatcher, restore to herald_api;

-- Publishers store events, make deliveries of them, and erase what is old or of a deleted endpoint. They never see a signing
-- secret, sealed as it is, and change no endpoint and no delivery.
grant select (id, organization_id, enabled, events, created_at, revision, paused_until) on webhook_endpoint to herald_publisher;
grant select, insert, delete on business_event, delivery, due to herald_publisher;
grant select, delete on delivery_attempt, business_event_rest, delivery_rest, delivery_attempt_rest to herald_publisher;
grant select on attempt to herald_publisher;
-- While a restore holds attempts, they lease no delivery to a hint.
grant select on restore to herald_publisher;
grant select, update, delete on catch_up, erasure to herald_publisher;
grant select, delete on endpoint_change to herald_publisher;
grant select, delete on resend to herald_publisher;
grant update (cursor_id, state, stop_reason, ended_at, due_at) on resend to herald_publisher;
-- They tell of events that they reject, and of what dispatchers gave up.
grant select, insert, delete on notice to herald_publisher;
grant update (publish_at) on notice to herald_publisher;
grant select, delete on exhaustion to herald_publisher;
grant select, insert, update, delete on digest to herald_publisher;
-- To tell how long the oldest transaction of any user has held back vacuum.
grant pg_read_all_stats to herald_publisher;

-- Dispatchers attempt and settle. They make no endpoint and no delivery, erase nothing of the history, and can send an
-- endpoint's deliveries nowhere else: of an endpoint they write how it fares.
grant select on webhook_endpoint, business_event, delivery, delivery_attempt to herald_dispatcher;
grant update (consecutive_failures, failure_run, failed_at, paused_until, failing_told, failing_told_at, enabled,
    disabled_reason, disabled_at, revision, updated_at)
  on webhook_endpoint to herald_dispatcher;
grant select, insert, update, delete on dispatcher to herald_dispatcher;
grant select on restore to herald_dispatcher;
grant select, delete on due to herald_dispatcher;
grant update (due_at, claim_id, attempts, interruptions) on due to herald_dispatcher;
grant update (state, attempt_count, attempted_at, duration_ms, status_code, error_summary, failure_kind, response_excerpt,
    traceparent)
  on delivery to herald_dispatcher;
grant insert on delivery_attempt to herald_dispatcher;
grant insert on notice, exhaustion, endpoint_change to herald_dispatcher;
