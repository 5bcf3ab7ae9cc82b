#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target library --requirement requirements.txt
PYTHONPATH=library $TRY emitter python3 -B emit.py
