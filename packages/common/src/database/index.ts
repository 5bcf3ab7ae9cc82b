export { isDataError } from "./errors.ts";
export { Prisma, type PrismaClient } from "./generated/client.ts";
export { type MigrationResult, migrate } from "./migrate.ts";
export { type Database, type DatabaseOptions, openDatabase } from "./open-database.ts";
