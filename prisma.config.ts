import { defineConfig } from "prisma/config";

// Prisma's command line wants a native schema engine that an offline machine cannot download. `generate`, `validate` and
// `format` never run it, and /bin/false makes a `migrate` that lacks the engine fail loudly instead of doing nothing.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= "/bin/false";

export default defineConfig({
  schema: "prisma/schema.prisma",
  migrations: { path: "prisma/migrations" },
  // `generate` needs no database, so its absence is no error here.
  datasource: { url: process.env.DATABASE_URL ?? "" },
});
