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

-- The management API keeps endpoints, and deliveries made by hand. What dispatchers have written it reads and erases.
grant select, insert, update, delete on webhook_endpoint to herald_api;
grant select, insert, delete on delivery to herald_api;
grant select on business_event, delivery_attempt to herald_api;

-- Publishers store events and make deliveries of them. They never see a signing secret, sealed as it is, and change no endpoint
-- but for its catch-up.
grant select, insert, delete on business_event to herald_publisher;
-- PostgreSQL wants a right to update for a lock on a row.
grant update (received_at) on business_event to herald_publisher;
grant select (id, organization_id, enabled, events, catch_up_at, catch_up_until, created_at) on webhook_endpoint to herald_publisher;
grant update (catch_up_at) on webhook_endpoint to herald_publisher;
grant select, insert, delete on delivery to herald_publisher;
grant update (state, next_attempt_at) on delivery to herald_publisher;
grant select on delivery_attempt to herald_publisher;
grant select, delete on notice to herald_publisher;
grant update (publish_at) on notice to herald_publisher;

-- Dispatchers attempt and settle. They make no endpoint and no delivery, delete nothing, and can send an endpoint's deliveries
-- nowhere else: of an endpoint they write how it fares.
grant select on webhook_endpoint, business_event, delivery, delivery_attempt to herald_dispatcher;
grant update (consecutive_failures, failure_run, enabled, disabled_reason, disabled_at, revision, updated_at)
  on webhook_endpoint to herald_dispatcher;
grant update (state, next_attempt_at, attempt_count, in_flight, status_code, error_summary, failure_kind,
    attempted_at)
  on delivery to herald_dispatcher;
grant insert, update on delivery_attempt to herald_dispatcher;
grant insert on notice to herald_dispatcher;
