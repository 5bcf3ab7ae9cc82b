import { defineConfig } from "prisma/config";

// `generate` needs no engine of Prisma's migrations, which would have to be downloaded.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= "/bin/false";

export default defineConfig({
  schema: "prisma/schema.prisma",
  // `prisma migrate` and `prisma db push` leave the outbox alone.
  experimental: { externalTables: true },
  tables: { external: ["public.herald_outbox"] },
  datasource: { url: process.env.DATABASE_URL ?? "" },
});
