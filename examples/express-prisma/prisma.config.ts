import { defineConfig } from "prisma/config";

// `generate` needs no engine of Prisma's migrations, which would have to be downloaded.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= "/bin/false";

export default defineConfig({
  schema: "prisma/schema.prisma",
  datasource: { url: process.env.DATABASE_URL ?? "" },
});
