import { names } from "@herald/common/broker/topology";
import type { Link } from "@herald/testkit/harness/link";
import type { FaultKind, PlannedFault, ServiceLabel } from "../plan/faults.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { keepTransactionOpen, lockEndpoint } from "./open-transaction.ts";
import { purgeQueue } from "./queues.ts";
import type { FragileServers } from "./servers.ts";
import type { SupervisedService } from "./supervisor.ts";

export interface Victims {
  services: ReadonlyMap<ServiceLabel, SupervisedService>;
  /** By their labels: `dispatcher-1>postgres`. */
  links: ReadonlyMap<string, Link>;
  servers: FragileServers;
  namespace: string;
  pause: (durationMs: number) => Promise<void>;
}

/** Of faults whose target does not say whom they hit. The long ones hit nobody who would have to wait for their end. */
const VICTIMS: Partial<Record<FaultKind, string>> = {
  purge: "rabbitmq",
  "row-lock": "locked row",
  "long-transaction": "open transaction",
};

/**
 * Injects planned faults, several at once where they hit different victims: what hits the same one waits for its turn, since
 * a service that is dead can't be frozen. Writes down when each really happened.
 */
export function createInjector(victims: Victims): {
  inject(fault: PlannedFault): Promise<void>;
  injected: InjectedFault[];
} {
  const injected: InjectedFault[] = [];
  const turns = new Map<string, Promise<void>>();

  async function inject(fault: PlannedFault): Promise<void> {
    const { kind, target } = fault;
    const victim = VICTIMS[kind] ?? target;
    const turn = (turns.get(victim) ?? Promise.resolve()).then(async () => {
      const record: InjectedFault = { kind, target, from: Date.now(), until: Number.POSITIVE_INFINITY };
      injected.push(record);
      try {
        await strike(fault, victims);
      } catch (error) {
        record.skipped = String(error);
      }
      record.until = Date.now();
    });
    turns.set(victim, turn);
    await turn;
  }

  return { inject, injected };
}

async function strike({ kind, target, durationMs }: PlannedFault, victims: Victims): Promise<void> {
  const { servers, pause } = victims;
  switch (kind) {
    case "kill":
      return await serviceOf(target, victims).kill(durationMs);
    case "crash-loop":
      return await crashAgainAndAgain(serviceOf(target, victims), durationMs, pause);
    case "terminate":
      await serviceOf(target, victims).restart(durationMs);
      return;
    case "freeze":
      return await serviceOf(target, victims).freeze(durationMs);
    case "cut":
      return linkOf(target, victims).cut();
    case "stall": {
      const link = linkOf(target, victims);
      link.stall();
      await pause(durationMs);
      return link.release();
    }
    case "silent-server":
    case "silent-client": {
      linkOf(target, victims).silence(kind === "silent-server" ? "server" : "client");
      // Until whoever was not told has noticed by itself.
      return await pause(durationMs);
    }
    case "purge": {
      const { hintsQueue, manualQueue } = names(victims.namespace);
      return await purgeQueue(servers.amqpUrls(), target === "hints" ? hintsQueue : manualQueue);
    }
    case "rabbitmq-killed":
      return await servers.killRabbitmq(durationMs);
    case "postgres-crashed":
      return await servers.crashPostgres(durationMs);
    case "memory-alarm":
      return await servers.alarmMemory(durationMs);
    case "row-lock":
      return await lockEndpoint(servers, Number(target), durationMs, pause);
    case "long-transaction":
      return await keepTransactionOpen(servers, durationMs, pause);
  }
}

/** How long a process of a crash loop may live, once it works: long enough to claim, too short to end what it claimed. */
const LIVES_MS = 300;

async function crashAgainAndAgain(service: SupervisedService, durationMs: number, pause: Victims["pause"]) {
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
