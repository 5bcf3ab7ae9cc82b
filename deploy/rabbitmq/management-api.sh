#!/bin/sh
# Makes Herald's users and their rights on a RabbitMQ that has its management API only, as hosted ones do. Made of deploy/rabbitmq/rights.json.
# It can be run again: it then sets passwords and rights anew, and touches no queue.
#
#   BROKER           the management API, such as https://HOST
#   ADMIN_LOGIN      USER:PASSWORD of an administrator
#   VHOST            the virtual host (herald); made, unless VHOST_EXISTS is set
#   API_PASSWORD     The management API: asks dispatchers, and hears their replies. It may reach no queue by itself.
#   PUBLISHER_PASSWORD Publishers: read events, hand deliveries over to dispatchers, and write notices.
#   DISPATCHER_PASSWORD Dispatchers: each reads a queue of its own, which it binds to both exchanges, and replies through the default exchange.
#   HERALD_PASSWORD  herald serve, which is all services in one process, and the herald command: whatever begins with Herald's name.
#   EMITTER_PASSWORD Product services: publishes events, and nothing else.
#   PRODUCT_PASSWORD The product's programs: reads notices through queues of its own.
#
# Passwords have none of the characters " and \.
set -eu
: "${BROKER:?}"
: "${ADMIN_LOGIN:?}"
: "${API_PASSWORD:?}"
: "${PUBLISHER_PASSWORD:?}"
: "${DISPATCHER_PASSWORD:?}"
: "${HERALD_PASSWORD:?}"
: "${EMITTER_PASSWORD:?}"
: "${PRODUCT_PASSWORD:?}"
VHOST=${VHOST:-herald}
case "$ADMIN_LOGIN$API_PASSWORD$PUBLISHER_PASSWORD$DISPATCHER_PASSWORD$HERALD_PASSWORD$EMITTER_PASSWORD$PRODUCT_PASSWORD" in
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

printf '{"password":"%s","tags":""}' "$API_PASSWORD" | put users/api
put "permissions/$VHOST/api" <<'RIGHTS'
{"configure":"^herald\\.requests$","write":"^herald\\.requests$","read":"^amq\\.rabbitmq\\.reply-to.*$"}
RIGHTS

printf '{"password":"%s","tags":""}' "$PUBLISHER_PASSWORD" | put users/publisher
put "permissions/$VHOST/publisher" <<'RIGHTS'
{"configure":"^herald\\.(events(\\..*)?|notices|dispatch)$","write":"^(herald\\.(events(\\..*)?|notices|dispatch)|amq\\.default)$","read":"^herald\\.events(\\..*)?$"}
RIGHTS

printf '{"password":"%s","tags":""}' "$DISPATCHER_PASSWORD" | put users/dispatcher
put "permissions/$VHOST/dispatcher" <<'RIGHTS'
{"configure":"^herald\\.(dispatch(\\..*)?|requests)$","write":"^(herald\\.dispatch\\..*|amq\\.default)$","read":"^herald\\.(dispatch(\\..*)?|requests)$"}
RIGHTS

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
