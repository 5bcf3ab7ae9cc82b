#!/bin/sh
# Started by `pnpm example django`, and by the test packages/e2e/test/nightly/examples/django.test.ts: installs what the app needs, makes
# its tables, and runs it with `herald relay` beside it until it is told to end.
set -eu
cd "$(dirname "$0")"
# Without the first, Python would leave compiled files beside the example's.
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$HERALD/.local/example-django"
if ! cmp -s requirements.txt "$PYTHONPATH/installed"; then
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --target "$PYTHONPATH" --requirement requirements.txt
  cp requirements.txt "$PYTHONPATH/installed"
fi
python3 manage.py migrate --verbosity 0
HERALD_ENV=development OUTBOX_DATABASE_URL=$DATABASE_URL OPERATIONS_PORT=0 LOG_LEVEL=warn \
  node "$HERALD/packages/cli/dist/main.js" relay &
relay=$!
python3 serve.py &
app=$!
trap 'kill "$relay" "$app" 2> /dev/null || true' EXIT
trap 'exit 0' INT TERM
wait "$app"
