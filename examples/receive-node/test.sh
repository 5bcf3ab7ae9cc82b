#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
npm install --no-audit --no-fund --prefer-offline
mkdir -p node_modules/@herald
ln -s "$HERALD/packages/receiver" node_modules/@herald/receiver

# Next.js itself is not run: it only calls what the file exports.
cat > next.mjs <<'END'
import { serve } from "@hono/node-server";
import { POST } from "./next-route.mjs";

serve({
  fetch: (request) => (request.method === "POST" ? POST(request) : new Response(null, { status: 405 })),
  port: Number(process.env.PORT),
  hostname: "127.0.0.1",
});
END

for framework in express fastify hono koa next nest; do
  $TRY receiver node "$framework.mjs"
done
