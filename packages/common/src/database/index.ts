export { diffSchemas } from "./diff-schemas.ts";
export { isConflict, isDatabaseOutage, isDataError, sqlStateOf } from "./errors.ts";
export { Prisma, type PrismaClient } from "./generated/client.ts";
export { COUNTED_AT_MOST, type Lag, readLag } from "./lag.ts";
export { type MigrateOptions, type MigrationResult, migrate } from "./migrate.ts";
export { migrationsFolder } from "./migrations-folder.ts";
export { type Database, type DatabaseOptions, openDatabase } from "./open-database.ts";
export type { Queries } from "./queries.ts";
