-- Herald's two users, run once by an administrator in Herald's own database:
--   psql -v owner_password=... -v app_password=... -f deploy/postgres/roles.sql
-- herald_owner runs migrations and owns the tables. herald_app, the services' user, reads and writes rows: it can't change a
-- table, and can't empty one at a stroke.
create role herald_owner login password :'owner_password';
create role herald_app login password :'app_password';

-- An owner of the database can give it the defaults that Herald's statements are made for: herald migrate does. Only who may
-- act as a role can make it an owner.
grant herald_owner to current_user;
do $$ begin execute format('alter database %I owner to herald_owner', current_database()); end $$;

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
