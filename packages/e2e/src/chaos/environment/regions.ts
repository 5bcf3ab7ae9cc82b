import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { projectFolder } from "@herald/testkit/stack/folders";
import { withClient } from "@herald/testkit/stack/postgres";
import { type PostgresPair, promoteStandby, startPostgresPair } from "@herald/testkit/stack/postgres-pair";
import { findOrInstallRabbitmq } from "@herald/testkit/stack/rabbitmq";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/testkit/stack/rabbitmq-node";
import type { Servers, ServersOptions } from "./servers.ts";

/**
 * Two regions. In the first one Herald works. The second one is warm: its PostgreSQL follows without being waited for, and its
 * RabbitMQ keeps a copy of the latest events, as docs/operating/second-region.md sets it up.
 */
export interface RegionServers extends Servers {
  /** From now on the second region's database gets nothing of what the first one commits. */
  fallBehind(): Promise<void>;
  /** Ends the broker and the database of the first region with `kill -9`. They do not come back. */
  loseFirst(): Promise<void>;
  /** Makes the second region's database take writes, and has everybody find the second region. Returns what its database has. */
  switchOver(): Promise<{ replayedTo: Date; copiedEvents: number }>;
  /** Moves the copies of the latest events to the exchange of the second region. Its inbox has to be there. */
  takeCopies(): Promise<void>;
}

const COPIES = "herald.region.events";
/** In each region, for the link between them. */
const FEDERATION = ["rabbitmq_federation", "rabbitmq_shovel"];
const LINKED_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 200;

export async function startRegions(options: ServersOptions): Promise<RegionServers> {
  const { folder, pidFolder, disposable } = options;
  const program = await findOrInstallRabbitmq();
  const nodes: RabbitmqNode[] = [];
  let pair: PostgresPair | undefined;
  let isSwitched = false;

  async function close(): Promise<void> {
    for (const node of nodes.reverse()) await node.stop();
    await pair?.standby.remove();
    await pair?.primary.remove();
  }

  async function startNode(name: string, plugins: readonly string[]): Promise<RabbitmqNode> {
    const node = await startRabbitmqNode(program, {
      folder: join(folder, name),
      // Its files are named after what runs.
      pidFolder: join(pidFolder, name),
      disposable: true,
      plugins,
    });
    nodes.push(node);
    return node;
  }

  try {
    const regions = await startPostgresPair({
      folder: join(folder, "postgres"),
      pidFolder,
      disposable,
      synchronous: false,
    });
    pair = regions;
    const first = await startNode("rabbitmq-first", []);
    const second = await startNode("rabbitmq-second", FEDERATION);
    await federate(first, second);
    return {
      databaseUrl: () => new URL(isSwitched ? regions.standby.url : regions.primary.url),
      amqpUrls: () => [new URL(isSwitched ? second.url : first.url)],
      async fallBehind() {
        await withClient(regions.standby.url, async (client) => {
          await client.query("alter system set primary_conninfo = ''");
          await client.query("select pg_reload_conf()");
        });
      },
      async loseFirst() {
        const { pid, exited } = regions.primary.process;
        process.kill(pid, "SIGKILL");
        await Promise.all([exited, first.stop()]);
      },
      async switchOver() {
        const replayedTo = await replayTimeOf(regions.standby.url);
        const copiedEvents = await copiesIn(second);
        await promoteStandby(regions.standby);
        isSwitched = true;
        return { replayedTo, copiedEvents };
      },
      async takeCopies() {
        const shovel = {
          "src-protocol": "amqp091",
          "src-uri": "amqp://",
          "src-queue": COPIES,
          "dest-protocol": "amqp091",
          "dest-uri": "amqp://",
          "dest-exchange": "herald.events",
          "ack-mode": "on-confirm",
        };
        await second.control(["clear_policy", "herald-region"]);
        await second.control(["set_parameter", "shovel", "herald-region", JSON.stringify(shovel)]);
        await until("the copies are moved", async () => (await copiesIn(second)) === 0).catch(async (error: Error) => {
          const status = await second.control(["shovel_status", "--formatter", "json"]);
          throw new Error(`${error.message} ${await copiesIn(second)} are left. ${status}`);
        });
        await second.control(["clear_parameter", "shovel", "herald-region"]);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function federate(first: RabbitmqNode, second: RabbitmqNode): Promise<void> {
  const upstream = {
    uri: first.url,
    exchange: "herald.events",
    "ack-mode": "on-confirm",
    "max-hops": 1,
    expires: 3_600_000,
    "reconnect-delay": 1,
  };
  await second.control(["set_parameter", "federation-upstream", "herald-region", JSON.stringify(upstream)]);
  await second.control(["import_definitions", join(projectFolder(), "deploy", "rabbitmq", "second-region.json")]);
  await until("the brokers are linked", async () =>
    (await second.control(["federation_status", "--formatter", "json"])).includes("running"),
  );
}

async function copiesIn(node: RabbitmqNode): Promise<number> {
  const listed = await node.control(["list_queues", "--formatter", "json", "name", "messages"]);
  const queues = JSON.parse(listed) as { name: string; messages: number }[];
  return queues.find(({ name }) => name === COPIES)?.messages ?? 0;
}

/** When the latest transaction that a standby has was committed. */
async function replayTimeOf(url: string): Promise<Date> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query<{ at: Date | null }>("select pg_last_xact_replay_timestamp() as at");
    if (!rows[0]?.at) throw new Error("The standby has replayed nothing.");
    return rows[0].at;
  });
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + LINKED_WITHIN_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`It did not come so far that ${what}.`);
    await sleep(LOOK_EVERY_MS);
  }
}
