#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
$TRY receiver sh -c 'exec php -S "127.0.0.1:$PORT" receiver.php'
