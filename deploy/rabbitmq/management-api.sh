#!/bin/sh
# Makes Herald's users and their rights on a RabbitMQ that has its management API only, as hosted ones do. Made of deploy/rabbitmq/rights.json.
# It can be run again: it then sets passwords and rights anew, and touches no queue.
#
#   BROKER           the management API, such as https://HOST
#   ADMIN_LOGIN      USER:PASSWORD of an administrator
#   VHOST            the virtual host (herald); made, unless VHOST_EXISTS is set
#   HERALD_PASSWORD  The services: declares and uses what begins with its own name; publishes to queues through the default exchange.
#   EMITTER_PASSWORD Product services: publishes events, and nothing else.
#   PRODUCT_PASSWORD The product's programs: reads notices through queues of its own.
#
# Passwords have none of the characters " and \.
set -eu
: "${BROKER:?}"
: "${ADMIN_LOGIN:?}"
: "${HERALD_PASSWORD:?}"
: "${EMITTER_PASSWORD:?}"
: "${PRODUCT_PASSWORD:?}"
VHOST=${VHOST:-herald}
case "$ADMIN_LOGIN$HERALD_PASSWORD$EMITTER_PASSWORD$PRODUCT_PASSWORD" in
  *[\"\\]*) echo 'A password has the character " or \. Choose another one.' >&2; exit 2 ;;
esac

# By files and not by arguments, which everybody on this machine can read.
login=$(mktemp)
trap 'rm -f "$login"' EXIT
printf 'user = "%s"\n' "$ADMIN_LOGIN" > "$login"

put() {
  curl --fail --silent --show-error --config "$login" --request PUT --header 'Content-Type: application/json' \
    --data @- "$BROKER/api/$1"
}

[ -n "${VHOST_EXISTS:-}" ] || echo '{}' | put "vhosts/$VHOST"

printf '{"password":"%s","tags":""}' "$HERALD_PASSWORD" | put users/herald
put "permissions/$VHOST/herald" <<'RIGHTS'
{"configure":"^herald\\.","write":"^(herald\\..*|amq\\.default)$","read":"^(herald\\..*|amq\\.rabbitmq\\.reply-to.*)$"}
RIGHTS

printf '{"password":"%s","tags":""}' "$EMITTER_PASSWORD" | put users/emitter
put "permissions/$VHOST/emitter" <<'RIGHTS'
{"configure":"^$","write":"^herald\\.events$","read":"^$"}
RIGHTS

printf '{"password":"%s","tags":""}' "$PRODUCT_PASSWORD" | put users/product
put "permissions/$VHOST/product" <<'RIGHTS'
{"configure":"^product\\.","write":"^product\\.","read":"^(product\\..*|herald\\.notices)$"}
RIGHTS
