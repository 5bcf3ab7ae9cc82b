import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import type { PrismaClient } from "@herald/common/database/generated/client";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { readCaFile } from "@herald/common/security/server-certificate";
import type { CommandContext } from "./command.ts";

const { DATABASE_URL, DATABASE_CA_FILE } = serviceSettings;

export interface DatabaseAddress {
  url: string;
  /** The authorities that its certificate may come from. */
  ca: string | undefined;
}

/**
 * Where the database is, and the authorities that its certificate may come from.
 *
 * @throws ConfigError
 */
export function databaseAddress({ environment }: CommandContext): DatabaseAddress {
  const config = readConfig({ DATABASE_URL, DATABASE_CA_FILE }, environment);
  return { url: config.DATABASE_URL, ca: readCaFile("DATABASE_CA_FILE", config.DATABASE_CA_FILE) };
}

/**
 * Runs a task on the database that `DATABASE_URL` names, and closes the connections afterwards.
 *
 * @param task gets PostgreSQL's time besides, which is that of all that is written there
 */
export async function withDatabase<T>(
  context: CommandContext,
  task: (prisma: PrismaClient, clock: Clock) => Promise<T>,
): Promise<T> {
  return await withOpen(databaseAddress(context), ({ prisma, clock }) => task(prisma, clock));
}

/** Runs a task on a database, for statements that carry much: Prisma's client would write each value as JSON first. */
export async function withQueries<T>(
  address: DatabaseAddress,
  task: (queries: Queries, clock: Clock) => Promise<T>,
): Promise<T> {
  return await withOpen(address, ({ queries, clock }) => task(queries, clock));
}

async function withOpen<T>({ url, ca }: DatabaseAddress, task: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(url, { ca, poolSize: 2, applicationName: "herald-cli" });
  try {
    await database.ping().catch((cause) => {
      throw new Error(`PostgreSQL at ${hostOf(url)} can't be used: ${reasonOf(cause)}`, { cause });
    });
    return await task(database);
  } finally {
    await database.close();
  }
}

/** Where a URL points, without its credentials. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an address that is no URL";
}

/** The last line of an error, where Prisma puts the cause. Node's own errors may have a code and no message. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message?.trim().split("\n").at(-1) || code || String(error);
}
