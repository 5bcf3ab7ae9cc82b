#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
cargo build --quiet
$TRY receiver target/debug/receiver
