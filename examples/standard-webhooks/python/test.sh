#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target library standardwebhooks==1.0.1
PYTHONPATH=library $TRY verifier python3 -B verify.py
