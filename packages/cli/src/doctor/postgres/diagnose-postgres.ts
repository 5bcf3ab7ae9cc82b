import { preparesStatements } from "@herald/common/database/client";
import { openDatabase } from "@herald/common/database/open-database";
import { openSession } from "@herald/common/database/session";
import { hostOf } from "../../database.ts";
import { type OnCheck, runChecks } from "../check.ts";
import { type NamedFinding, ok } from "../finding.ts";
import { clocks } from "./clocks.ts";
import { connections } from "./connections.ts";
import { defaults } from "./defaults.ts";
import { durability } from "./durability.ts";
import { keyRing } from "./key-ring.ts";
import { ownerFunctions } from "./owner-functions.ts";
import { partitions } from "./partitions.ts";
import { pooler } from "./pooler.ts";
import { refusalFinding } from "./refusal.ts";
import { restore } from "./restore.ts";
import { rights } from "./rights.ts";
import { schema } from "./schema.ts";
import type { DatabaseSubject, StoredSubject } from "./subject.ts";
import { postgresVersion } from "./version.ts";
import { writable } from "./writable.ts";

const CHECKS = [postgresVersion, writable, durability, pooler, connections, clocks, rights, ownerFunctions, schema];
const STORED_CHECKS = [defaults, partitions, restore, keyRing];
const APPLICATION_NAME = "herald-doctor";

export type DatabaseGiven = { url: string; ca: string | undefined } & Pick<
  StoredSubject,
  "secretBox" | "statementTimeoutMs"
> &
  Pick<DatabaseSubject, "poolSize" | "processes" | "service" | "machineClock">;

/** Looks at PostgreSQL from outside first, and then over the connections that a service makes. */
export async function diagnosePostgres(given: DatabaseGiven, onCheck: OnCheck): Promise<NamedFinding[]> {
  const { url, ca } = given;
  const subject = { ...given, preparesStatements: preparesStatements(url) };
  const host = hostOf(url);
  const open = () => openSession(url, { ca, applicationName: APPLICATION_NAME });
  onCheck("PostgreSQL");
  const session = await open().catch((error: unknown) => refusalFinding(error, host));
  if ("status" in session) return [{ check: "PostgreSQL", ...session }];
  const findings: NamedFinding[] = [];
  try {
    findings.push(...(await runChecks(CHECKS, { ...subject, session, openSession: open }, onCheck)));
  } finally {
    await session.close();
  }
  return [...findings, ...(await overServiceConnection(subject, onCheck))];
}

async function overServiceConnection(
  given: DatabaseGiven & Pick<StoredSubject, "preparesStatements">,
  onCheck: OnCheck,
): Promise<NamedFinding[]> {
  const { url, ca, statementTimeoutMs } = given;
  const database = openDatabase(url, { ca, poolSize: 1, statementTimeoutMs, applicationName: APPLICATION_NAME });
  const check = "service's connection";
  try {
    onCheck(check);
    const refusal = await database.ping().then(
      () => undefined,
      (error: unknown) => refusalFinding(error, hostOf(url)),
    );
    if (refusal) return [{ check, ...refusal }];
    const subject = { ...given, queries: database.queries, clock: database.clock };
    return [{ check, ...ok("It is made.") }, ...(await runChecks(STORED_CHECKS, subject, onCheck))];
  } finally {
    await database.close();
  }
}
