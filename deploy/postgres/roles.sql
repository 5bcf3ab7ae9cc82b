-- Herald's users, run once in Herald's own database, before the first `herald migrate`, by an administrator who owns the database, and
-- need be no superuser:
--   psql -v owner_password=... -v app_password=... -f deploy/postgres/roles.sql
-- herald_owner runs migrations, owns the tables, and gives the others their rights as it migrates. herald_app reads and writes rows:
-- it can't change a table, and can't empty one at a stroke. It is for `herald serve`, which is all services in one process, and for
-- the herald command. Services that run apart have users of their own: service-roles.sql.
create role herald_owner login password :'owner_password';
create role herald_app login password :'app_password';

do $$ begin
  -- What Herald's statements are made for, for all sessions of this database: as `herald migrate` would set it without further
  -- settings. Only who owns the database may. herald_owner does not, since an owner may also drop the database, rename it and give
  -- rights in it. Where DATABASE_URL or DATABASE_TIMEOUT_SECONDS asks for other values, herald migrate prints what is left to run.
  execute format('alter database %I set search_path = public, pg_temp', current_database());
  execute format('alter database %I set statement_timeout = 30000', current_database());
  execute format('alter database %I set random_page_cost = 1.1', current_database());
  execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database());
  -- Herald makes no temporary table. Others could put one before a table of Herald's where a function has the owner's rights.
  execute format('revoke temporary on database %I from public', current_database());
end $$;

revoke all on schema public from public;
grant usage, create on schema public to herald_owner;
grant usage on schema public to herald_app;

-- To tell how long the oldest transaction of any user has held back vacuum. Not every provider lets its administrator give it.
do $$ begin
  grant pg_read_all_stats to herald_app;
exception when insufficient_privilege then
  raise notice 'pg_read_all_stats is not given: herald_app sees the age of its own transactions only.';
end $$;
