#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
npm install --no-audit --no-fund standardwebhooks@1.1.1
$TRY verifier node verify.mjs
