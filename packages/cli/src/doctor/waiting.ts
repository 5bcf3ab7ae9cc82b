import { Prisma } from "@herald/common/database/generated/client";
import { COUNTED_AT_MOST, readLag } from "@herald/common/database/lag";
import { counted } from "../output.ts";
import { type Check, ok } from "./finding.ts";
import type { DatabaseSubject } from "./postgres.ts";

/** Says what waits in PostgreSQL. How long is too long, the alerts decide. */
export const waiting: Check<DatabaseSubject> = {
  name: "what waits",
  async examine({ session, endpointConcurrency }) {
    const [clock] = await session.query<{ now: Date }>("select clock_timestamp() as now");
    const { now = new Date() } = clock ?? {};
    const reads = {
      async $queryRaw<T>(strings: TemplateStringsArray, ...given: unknown[]) {
        const { text, values } = Prisma.sql(strings, ...given);
        return (await session.read(text, values)) as T;
      },
    };
    const lag = await readLag(reads, { now, endpointConcurrency });
    const since = (time: Date | null) =>
      time === null ? "" : ` (the oldest for ${Math.max(0, Math.round((now.getTime() - time.getTime()) / 1_000))} s)`;
    const some = (count: number) => counted(count, COUNTED_AT_MOST);
    return ok(
      `Deliveries: ${some(lag.dueForHerald)} for Herald${since(lag.oldestForHeraldAt)}, ` +
        `${some(lag.due - lag.dueForHerald)} for their receiver${since(lag.oldestForReceiverAt)}, ` +
        `${some(lag.scheduled)} for a retry, ${some(lag.parked)} with a disabled endpoint. ` +
        `Notices: ${some(lag.notices)}. Catch-ups: ${lag.catchUps + lag.guards}. ` +
        `The oldest transaction began ${Math.round(lag.oldestTransactionSeconds)} s ago.`,
    );
  },
};
