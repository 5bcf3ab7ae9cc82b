import { BLOCKING_SESSIONS, type BlockingSession } from "@herald/common/database/blocking-sessions";
import type { Session } from "@herald/common/database/client";
import { oneLine, plural } from "../output.ts";
import { type Check, type Finding, fault } from "./finding.ts";

/** Names the sessions for whose locks Herald's statements wait. */
export const locks: Check<{ session: Session }> = {
  name: "locks",
  examine: async ({ session }) => (await session.query<BlockingSession>(BLOCKING_SESSIONS)).map(findingOf),
};

function findingOf({ pid, user, application, client, state, since, query, waiters, tables }: BlockingSession): Finding {
  const held = `holds up ${plural(waiters, "statement")} of Herald${tables.length > 0 ? ` on ${tables.join(", ")}` : ""}`;
  if (pid === 0)
    return fault(
      `A prepared transaction ${held}.`,
      "See pg_prepared_xacts, and end it as an administrator: rollback prepared 'ITS GID'",
    );
  const who = [user, application, client && `from ${client}`].filter(Boolean).join(", ");
  const does = state === null ? "This user may not see what it does" : `It is ${state} since ${since?.toISOString()}`;
  return fault(
    `Session ${pid} (${who}) ${held}. ${does}${query ? `, and ran last: ${oneLine(query)}` : "."}`,
    `If it need not finish, end it as an administrator: \`select pg_terminate_backend(${pid})\``,
  );
}
