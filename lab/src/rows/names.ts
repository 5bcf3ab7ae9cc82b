import { setTimeout as sleep } from "node:timers/promises";
import { nameServer } from "@herald/testkit/harness/name-server";
import type { BenchHerald } from "../environment.ts";
import { sharedNow } from "../processes/busy.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { startTraffic } from "../traffic.ts";
import { inDatabase } from "./stored-backlog.ts";

const ORGANIZATIONS = 40;
const PER_SECOND = 40;
const WARM_UP_SECONDS = 5;
const BEFORE_SECONDS = 5;
const DEAD_SECONDS = 120;
const AFTER_SECONDS = 5;

/** Whether Herald blames receivers while it is Herald that can't look up their names, and how long it takes afterwards. */
export const namesRow: Row = {
  name: "names",
  title: "Herald's name server is dead under load",
  figures: {
    recovered: { label: "from its return until all that had waited has arrived", unit: "ms", bar: { atMost: 30_000 } },
    waited: { label: "events that had waited", unit: "" },
    blamed: { label: "endpoints with a failure, or disabled", unit: "", bar: { atMost: 0 } },
    recorded: { label: "failed attempts in the history", unit: "", bar: { atMost: 0 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { progress }) {
    const names = await nameServer();
    const herald = await environment.openHerald("names");
    const api = await herald.start("management-api");
    await herald.start("dispatcher", { DNS_SERVERS: names.address });
    await herald.start("publisher");
    const hostOf = (index: number) => `h${index}.receivers.example`;
    const traffic = await startTraffic(environment, herald, { api, endpoints: ORGANIZATIONS, hostOf });
    // What stays open would be used on, and nobody would need the name server.
    await traffic.keepNoConnections();
    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, WARM_UP_SECONDS));
    return {
      conditions: {
        "processes of each service": 1,
        "organizations, each with an endpoint on a host of its own": ORGANIZATIONS,
        "events a second": PER_SECOND,
        "the name server is dead for": `${DEAD_SECONDS} s`,
        "connections that receivers keep open": 0,
        "body bytes": SAMPLE_BODY.length,
      },
      async round() {
        await traffic.reset();
        await traffic.busy();
        const emitting = traffic.emitEvenly(PER_SECOND, BEFORE_SECONDS + DEAD_SECONDS + AFTER_SECONDS);
        await sleep(BEFORE_SECONDS * 1_000);
        const diedAt = sharedNow();
        await names.die();
        await sleep(DEAD_SECONDS * 1_000);
        const blamed = await countBlamed(herald);
        const revivedAt = sharedNow();
        await names.revive();
        const emitted = await emitting;
        const busy = await traffic.busy();
        await traffic.untilReceived(emitted);
        const { different, repeated, delays, plannedAt } = await traffic.arrivals();
        const waited = plannedAt
          .map((at, index) => ({ at, arrivedAt: at + (delays[index] as number) }))
          .filter(({ at, arrivedAt }) => at > diedAt && at < revivedAt && arrivedAt > revivedAt);
        return {
          recovered: Math.max(0, ...waited.map(({ arrivedAt }) => arrivedAt - revivedAt)),
          waited: waited.length,
          blamed: Math.max(blamed, await countBlamed(herald)),
          recorded: await countFailed(herald),
          receiverBusy: busy.receiver,
          emitterBusy: busy.emitter,
          lost: emitted - different,
          repeated,
        };
      },
      async close() {
        await traffic.close();
        await herald.close();
        await names.close();
      },
    };
  },
};

function countBlamed(herald: BenchHerald): Promise<number> {
  return count(herald, "select count(*) from webhook_endpoint where consecutive_failures > 0 or not enabled");
}

function countFailed(herald: BenchHerald): Promise<number> {
  return count(
    herald,
    `select count(*) from (
      select from delivery where failure_kind is not null union all select from delivery_attempt
    ) as failed`,
  );
}

async function count(herald: BenchHerald, statement: string): Promise<number> {
  const { rows } = await inDatabase(herald, (client) => client.query<{ count: string }>(statement));
  return Number(rows[0]?.count);
}
