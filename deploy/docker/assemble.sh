#!/bin/sh
# Puts what the services need at run time, and nothing else, from a built checkout into an empty folder.
# The Dockerfile runs it; it can be run by hand: deploy/docker/assemble.sh /tmp/herald
set -eu
target=${1:?usage: assemble.sh <empty folder>}
cd "$(dirname "$0")/../.."
root=$PWD
mkdir -p "$target"

# The lock file names each of them.
for manifest in package.json pnpm-lock.yaml pnpm-workspace.yaml packages/*/package.json services/*/package.json \
  scripts/*/package.json lab/package.json; do
  mkdir -p "$target/$(dirname "$manifest")"
  cp "$manifest" "$target/$manifest"
done
for part in services/management-api services/publisher services/dispatcher \
  packages/amqp packages/common packages/contracts packages/emitter packages/cli packages/admin-ui; do
  cp -R "$part/dist" "$target/$part/dist"
done
cp -R services/management-api/assets "$target/services/management-api/assets"
mkdir -p "$target/prisma"
cp -R prisma/migrations "$target/prisma/migrations"

cd "$target"
# Without what is optional, the checkout's Node above all: the image has its own.
node "$root/.ci/pnpm.mjs" install --prod --no-optional --frozen-lockfile --ignore-scripts --package-import-method=copy \
  --filter @herald/management-api --filter @herald/publisher --filter @herald/dispatcher \
  --filter @herald/cli --filter @herald/emitter --filter @herald/amqp --filter @herald/common --filter @herald/contracts

# Prisma brings a query compiler for each database it knows, 70 MB; Herald has one database.
find node_modules/.pnpm -path '*/@prisma/client/runtime/*' \
  \( -name '*.mysql.*' -o -name '*.sqlite.*' -o -name '*.sqlserver.*' -o -name '*.cockroachdb.*' \) -delete
find node_modules/.pnpm \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -type f -delete
find packages services -path '*/dist/*' \( -name '*.d.ts' -o -name '.tsbuildinfo' \) -type f -delete
# What an earlier build made of sources that are gone since.
find packages services -path '*/dist/*.js' ! -path 'packages/admin-ui/*' | while read -r file; do
  name=${file#*/dist/}
  [ -e "$root/${file%%/dist/*}/src/${name%.js}.ts" ] || rm -f "$file" "$file.map"
done
# What pnpm notes for its next run holds times and folders; without it, two builds of a commit are the same files.
rm -f node_modules/.modules.yaml node_modules/.pnpm-workspace-state*.json
# Manifests of parts that are not here.
rm -r scripts lab
for manifest in packages/*/package.json; do
  [ -d "$(dirname "$manifest")/dist" ] || rm -r "$(dirname "$manifest")"
done
# Links to them.
find node_modules -type l ! -exec test -e {} \; -delete
