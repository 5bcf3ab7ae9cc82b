import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import type { PrismaClient } from "@herald/common/database/generated/client";
import { openDatabase } from "@herald/common/database/open-database";
import type { Surroundings } from "./command.ts";

const { DATABASE_URL } = serviceSettings;

/** Runs a task on the database that `DATABASE_URL` names, and closes it behind it. */
export async function withDatabase<T>(
  { environment }: Surroundings,
  task: (prisma: PrismaClient) => Promise<T>,
): Promise<T> {
  const config = readConfig({ DATABASE_URL }, environment);
  const database = openDatabase(config.DATABASE_URL, { poolSize: 2, applicationName: "herald-maintenance" });
  try {
    await database.ping().catch((cause) => {
      throw new Error(`PostgreSQL at ${placeOf(config.DATABASE_URL)} can't be used: ${reasonOf(cause)}`, { cause });
    });
    return await task(database.prisma);
  } finally {
    await database.close();
  }
}

/** Where a URL points, without its credentials. */
export function placeOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an address that is no URL";
}

/** Prisma puts the cause at the end of several lines; Node's own errors may have a code and no message. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message?.trim().split("\n").at(-1) || code || String(error);
}
