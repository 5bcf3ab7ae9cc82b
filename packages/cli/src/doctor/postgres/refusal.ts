import { DATABASE_SERVER } from "@herald/common/database/client";
import { explainTlsFailure } from "@herald/common/security/server-certificate";
import { reasonOf } from "../../database.ts";
import { type Finding, fault } from "../finding.ts";
import { unreachable } from "../unreachable.ts";

/** Why PostgreSQL at `host` takes no connection, and what to do. */
export function refusalFinding(error: unknown, host: string): Finding {
  const tls = explainTlsFailure(error, DATABASE_SERVER);
  if (tls) return fault(tls.what, tls.remedy);
  const reason = reasonOf(error);
  const { code } = error as { code?: string };
  if (code === "28000" && /no encryption|SSL off/.test(reason)) {
    return fault(
      `PostgreSQL at ${host} asks for TLS.`,
      "Name its certificate authority by DATABASE_CA_FILE, or add sslmode=verify-full to DATABASE_URL where a public one vouches for it.",
    );
  }
  if (code === "28P01" || code === "28000") {
    return fault(
      `PostgreSQL at ${host} refuses this user: ${reason}.`,
      "Correct user and password in DATABASE_URL (special characters percent-encoded), or the user's line in pg_hba.conf.",
    );
  }
  if (code === "3D000") {
    return fault(`PostgreSQL at ${host} says: ${reason}.`, "Create the database, or correct its name in DATABASE_URL.");
  }
  if (code === "53300") {
    return fault(
      `PostgreSQL at ${host} has no connection left: ${reason}.`,
      "Raise max_connections or the user's limit, or lower DATABASE_POOL_SIZE.",
    );
  }
  if (/startup parameter/.test(reason)) {
    return fault(
      `A pooler stands before PostgreSQL at ${host}, and refuses what DATABASE_URL asks for at the start: ${reason}.`,
      "Remove it from DATABASE_URL: Herald needs no parameter beyond the standard ones.",
    );
  }
  return (
    unreachable(error, { name: "PostgreSQL", host, urlSetting: "DATABASE_URL" }) ??
    fault(`PostgreSQL at ${host} takes no connection: ${reason}.`, "Look for this message in the server's log.")
  );
}
