#!/bin/sh
# Run by the postgres image when it makes a new database.
set -eu
psql --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set=owner_password="$(cat /run/secrets/postgres-owner-password)" \
  --set=app_password="$(cat /run/secrets/postgres-app-password)" \
  --file /roles.sql
