import type { Link } from "@herald/dev/harness/link";
import { NO_ROUTE } from "@herald/dev/harness/name-server";
import { withClient } from "@herald/dev/stack/postgres";
import type { LoadFaults } from "../load.ts";
import type { FaultKind, PlannedFault, ServiceLabel } from "../plan/faults.ts";
import type { InjectedFault } from "../verdict/history.ts";
import type { ChaosEnvironment } from "./open-environment.ts";
import type { FragileServers, Servers } from "./servers.ts";
import type { SupervisedService } from "./supervisor.ts";

type Pause = (durationMs: number) => Promise<void>;

type Victims = ChaosEnvironment<FragileServers> & { pause: Pause };

const DISPATCHERS = ["dispatcher-1", "dispatcher-2"] as const;

/** The victims of faults whose target does not name them. No other fault waits for the end of a long one. */
const VICTIMS: Partial<Record<FaultKind, readonly string[]>> = {
  // One waits for the other: a request for a table would hold up everybody behind it until the rows are free.
  "row-lock": ["locks"],
  "table-lock": ["locks"],
  "long-transaction": ["open transaction"],
  // No other fault of the network may end its time without kept connections.
  "new-authority": ["network"],
  // One after the other, by whatever name.
  "receiver-restarts": ["receivers"],
  frozen: DISPATCHERS,
};

/**
 * Injects planned faults, several at once where they hit different victims: what hits the same one waits for its turn, since
 * a service that is dead can't be frozen. Writes down when each really happened.
 */
export function createInjector(victims: Victims, load: LoadFaults) {
  const injected: InjectedFault[] = [];
  const turns = new Map<string, Promise<void>>();

  async function inject(fault: PlannedFault): Promise<void> {
    const { kind, target } = fault;
    const victimsOf = VICTIMS[kind] ?? [target];
    const turn = Promise.all(victimsOf.map((victim) => turns.get(victim))).then(async () => {
      const record: InjectedFault = { kind, target, from: Date.now(), until: Number.POSITIVE_INFINITY };
      injected.push(record);
      try {
        const hit: unknown = await strikes(fault, victims, load)[kind]();
        if (typeof hit === "string") record.target = hit;
      } catch (error) {
        record.skipped = String(error);
      }
      record.until = Date.now();
    });
    for (const victim of victimsOf) turns.set(victim, turn);
    await turn;
  }

  return { inject, injected };
}

const FLOOD = 2_000;
const LARGE_BODIES = 100;
/** The rest of an event of 256 KiB is its envelope. */
const LARGE_TEXT_BYTES = 255 * 1024;

/** How each kind of fault strikes. Resolves when it is over; with a string, the name of the victim, if that is not the planned target. */
function strikes({ target, durationMs, aheadMs = 0 }: PlannedFault, victims: Victims, load: LoadFaults) {
  const { servers, nameServer, pause } = victims;
  const meanwhile = () => pause(durationMs);
  const hold = (...statements: string[]) => holdTransaction(servers, statements, durationMs, pause);
  return {
    kill: () => serviceOf(target, victims).kill(durationMs),
    "crash-loop": () => crashAgainAndAgain(serviceOf(target, victims), durationMs, pause),
    terminate: () => serviceOf(target, victims).restart(durationMs),
    freeze: () => serviceOf(target, victims).freeze(durationMs),
    frozen: () => Promise.all(DISPATCHERS.map((each) => serviceOf(each, victims).freeze(durationMs))),
    clock: () => serviceOf(target, victims).setClock(aheadMs, durationMs),
    cut: async () => linkOf(target, victims).cut(),
    async stall() {
      const link = linkOf(target, victims);
      link.stall();
      await meanwhile();
      link.release();
    },
    async hang() {
      const link = linkOf(target, victims);
      link.hang();
      await pause(durationMs / 2);
      link.cut();
      await pause(durationMs / 2);
      link.release();
    },
    // Until the side that still has its connection has noticed by itself.
    async "silent-server"() {
      linkOf(target, victims).silence("server");
      await meanwhile();
    },
    async "silent-client"() {
      linkOf(target, victims).silence("client");
      await meanwhile();
    },
    "rabbitmq-killed": () => servers.killRabbitmq(durationMs),
    "postgres-crashed": () => servers.crashPostgres(durationMs),
    "memory-alarm": () => servers.alarmMemory(durationMs),
    // As a psql with a forgotten commit does.
    "row-lock": () => hold("begin", `select 1 from ${target} where ${ROWS[target]} for update`),
    "table-lock": () => hold("begin", `lock table ${target} in access exclusive mode`),
    // Keeps a snapshot, as a dump or a report does: what dies until its end stays in the tables and their indexes.
    "long-transaction": () => hold("begin isolation level repeatable read", "select count(*) from webhook_endpoint"),
    async "resolver-dead"() {
      await nameServer.die();
      await load.forgetConnections(meanwhile);
      await nameServer.revive();
    },
    async "no-route"() {
      nameServer.answerWith([NO_ROUTE]);
      await load.refuseEverywhere(meanwhile);
      nameServer.answerWith(["127.0.0.1"]);
    },
    "receiver-restarts": () => load.restartReceiver(Number(target), meanwhile),
    "new-authority": async () => load.renewCertificates(await victims.newAuthority(), meanwhile),
    "slow-crowd": () => load.slowCrowd(meanwhile),
    flood: () => load.burst(FLOOD, 0),
    "large-bodies": () => load.burst(LARGE_BODIES, LARGE_TEXT_BYTES),
  } satisfies Record<FaultKind, () => Promise<unknown>>;
}

/** How long a process of a crash loop may live, once it works: long enough to begin, too short to end what it began. */
const LIVES_MS = 300;

async function crashAgainAndAgain(service: SupervisedService, durationMs: number, pause: Pause) {
  const end = Date.now() + durationMs;
  while (Date.now() < end) {
    await service.kill(0);
    await Promise.race([service.ready().catch(() => {}), pause(end - Date.now())]);
    await pause(Math.min(LIVES_MS, end - Date.now()));
  }
  await service.kill(0);
}

function serviceOf(label: string, { services }: Victims): SupervisedService {
  const service = services.get(label as ServiceLabel);
  if (!service) throw new Error(`There is no service ${label}.`);
  return service;
}

function linkOf(label: string, { links }: Victims): Link {
  const link = links.get(label);
  if (!link) throw new Error(`There is no link ${label}.`);
  return link;
}

/** How long after PostgreSQL ended under it the other program comes again. */
const AGAIN_MS = 200;

/** Rows of each table that Herald is about to write. */
const ROWS: Readonly<Record<string, string>> = {
  webhook_endpoint: "true order by random() limit 1",
  delivery: "id in (select delivery_id from due order by due_at limit 5)",
  due: "delivery_id in (select delivery_id from due order by due_at limit 5)",
  business_event: "true order by received_at desc limit 5",
};

/** Holds a transaction open over a direct connection, through no link. If PostgreSQL ends, it begins again until the time is over. */
async function holdTransaction(servers: Servers, statements: string[], durationMs: number, pause: Pause) {
  const end = Date.now() + durationMs;
  while (Date.now() < end) {
    try {
      await withClient(servers.databaseUrl().href, async (client) => {
        const lost = new Promise<void>((resolve) => client.on("error", () => resolve()));
        for (const statement of statements) await client.query(statement);
        await Promise.race([lost, pause(end - Date.now())]);
      });
    } catch {
      // PostgreSQL is away for a moment.
      await pause(AGAIN_MS);
    }
  }
}
