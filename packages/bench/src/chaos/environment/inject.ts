import { names } from "@herald/common/broker/topology";
import type { Link } from "@herald/testkit/harness/link";
import type { PlannedFault, ServiceLabel } from "../plan/faults.ts";
import type { InjectedFault } from "../verdict/history.ts";
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
    const victim = kind === "purge" ? "rabbitmq" : target;
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
      const { firstHintsQueue, manualHintsQueue } = names(victims.namespace);
      return await purgeQueue(servers.amqpUrls(), target === "first" ? firstHintsQueue : manualHintsQueue);
    }
    case "rabbitmq-killed":
      return await servers.killRabbitmq(durationMs);
    case "postgres-crashed":
      return await servers.crashPostgres(durationMs);
    case "memory-alarm":
      return await servers.alarmMemory(durationMs);
  }
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
