-- A user for each service, with no more rights than its work takes, so that a break-in into one of them is worth as little as possible.
-- Run once after roles.sql, by the same administrator, in Herald's database:
--   psql -v api_password=... -v publisher_password=... -v dispatcher_password=... -f deploy/postgres/service-roles.sql
-- `herald migrate` gives them their rights, which packages/common/src/database/rights.ts lists: run it after this.
create role herald_api login password :'api_password';
create role herald_publisher login password :'publisher_password';
create role herald_dispatcher login password :'dispatcher_password';

do $$ begin
  execute format('revoke temporary on database %I from public', current_database());
end $$;
revoke all on schema public from public;
grant usage on schema public to herald_api, herald_publisher, herald_dispatcher;

-- To tell how long the oldest transaction of any user has held back vacuum. Not every provider lets its administrator give it.
do $$ begin
  grant pg_read_all_stats to herald_publisher;
exception when insufficient_privilege then
  raise notice 'pg_read_all_stats is not given: herald_publisher sees the age of its own transactions only.';
end $$;
