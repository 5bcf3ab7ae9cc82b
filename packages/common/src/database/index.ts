export { isConflict, isDataError, sqlStateOf } from "./errors.ts";
export { Prisma, type PrismaClient } from "./generated/client.ts";
export { type MigrateOptions, type MigrationResult, migrate } from "./migrate.ts";
export { migrationsFolder } from "./migrations-folder.ts";
export { type Database, type DatabaseOptions, openDatabase } from "./open-database.ts";
