#!/bin/sh
# Installs and builds the app with the packages of this checkout, and runs it beside the Herald of `pnpm start`.
set -eu
cd "$(dirname "$0")"
HERALD=${HERALD:-$(cd ../.. && pwd)}
export HERALD
# The scripts of Prisma's packages download engines that it does not need here.
npm install --no-audit --no-fund --prefer-offline --ignore-scripts
mkdir -p node_modules/@herald
for name in emitter receiver; do
  rm -rf "node_modules/@herald/$name"
  ln -s "$HERALD/packages/$name" "node_modules/@herald/$name"
done
npm run build
exec node start.mjs
