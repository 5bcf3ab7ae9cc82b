#!/bin/sh
# Run by the postgres image when it makes a new database.
set -eu
password() { cat "/run/secrets/postgres-$1-password"; }
psql --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set=owner_password="$(password owner)" --set=app_password="$(password app)" \
  --set=api_password="$(password api)" --set=publisher_password="$(password publisher)" \
  --set=dispatcher_password="$(password dispatcher)" \
  --file /roles.sql --file /service-roles.sql
