-- Herald's two users, run once in Herald's own database by an administrator who owns it, and need be no superuser:
--   psql -v owner_password=... -v app_password=... -f deploy/postgres/roles.sql
-- herald_owner runs migrations and owns the tables. herald_app, the services' user, reads and writes rows: it can't change a
-- table, and can't empty one at a stroke.
create role herald_owner login password :'owner_password';
-- Of a role that one is no member of, only a superuser may alter the default privileges, and no managed PostgreSQL has one.
grant herald_owner to current_user;
create role herald_app login password :'app_password';

-- What Herald's statements are made for, for all sessions of this database: as `herald migrate` would set it without further
-- settings. Only who owns the database may. herald_owner does not, since an owner may also drop the database, rename it and give
-- rights in it. Where DATABASE_URL or DATABASE_TIMEOUT_SECONDS asks for other values, herald migrate prints what is left to run.
do $$ begin
  execute format('alter database %I set statement_timeout = 30000', current_database());
  execute format('alter database %I set random_page_cost = 1.1', current_database());
  execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database());
end $$;

revoke all on schema public from public;
grant usage, create on schema public to herald_owner;
grant usage on schema public to herald_app;

-- For every table that a migration makes, now and later; the partitions of each day too, which a function of the owner makes.
alter default privileges for role herald_owner in schema public grant select, insert, update, delete on tables to herald_app;
alter default privileges for role herald_owner in schema public grant usage on sequences to herald_app;
-- PostgreSQL lets everybody run a new function, unless told otherwise. Two of Herald's make and drop partitions.
alter default privileges for role herald_owner revoke execute on functions from public;
alter default privileges for role herald_owner in schema public grant execute on functions to herald_app;

-- To tell how long the oldest transaction of any user has held back vacuum.
grant pg_read_all_stats to herald_app;
