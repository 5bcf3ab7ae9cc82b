import { totalmem } from "node:os";
import { MIB, memorySettings } from "../config/common-settings.ts";
import { ConfigError } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";

export type MemoryBounds = ReturnType<typeof memoryBounds>;

/** The memory that the operating system gives this process. */
export interface MachineMemory {
  /** The limit of its container or unit (cgroup); undefined if there is none. */
  limitBytes: number | undefined;
  totalBytes: number;
}

/** The memory of a process that holds nothing yet: code, heap, connections to PostgreSQL and RabbitMQ. */
const BASE_BYTES = 128 * MIB;

/** Without a limit, a process takes this part of the machine's memory, up to {@link MOST_OF_MACHINE_BYTES}. */
const PART_OF_MACHINE = 1 / 4;
const MOST_OF_MACHINE_BYTES = 512 * MIB;

const ATTEMPT_BYTES = 75_000;
const CLIENT_BYTES = 10_000;

/** The fewest manual deliveries in flight. An endpoint may have a tenth of them, so at least five. */
const LEAST_MANUAL_DELIVERIES = 50;

/**
 * Divides the memory above {@link BASE_BYTES}. The shares do not overlap and are eleven twelfths of it together, so that `herald serve`, with all three
 * services in one process, can use the same ones.
 *
 * @throws ConfigError if the process has less memory than it needs, or less than MEMORY_MIB
 */
export function memoryBounds(config: Config<typeof memorySettings>, machine?: MachineMemory) {
  const room = memoryBytes(config, machine) - BASE_BYTES;
  // Three eighths: most of what a dispatcher has in flight is connections.
  const inFlight = Math.floor((room * 3) / 8 / ATTEMPT_BYTES);
  return {
    /** Business events that a publisher holds while they are stored, in bytes: a third. */
    inboxBytes: Math.floor(room / 3),
    /** Attempts of a dispatcher in flight at once, slow ones and manual deliveries included; and its open connections, idle ones included. */
    inFlight,
    /** Manual deliveries under way at once, slow ones included. */
    manualDeliveries: Math.max(LEAST_MANUAL_DELIVERIES, Math.floor(inFlight / 20)),
    /** The most bytes of all bodies above 8 KiB of attempts in flight: a twelfth, since few bodies are large. The same number is a second limit, for the smaller bodies of deliveries that wait in memory. */
    bodiesBytes: Math.floor(room / 12),
    clients: Math.floor(room / 8 / CLIENT_BYTES),
  };
}

/** The memory that a process may take. @throws ConfigError as {@link memoryBounds} */
export function memoryBytes(
  { MEMORY_MIB }: Config<typeof memorySettings>,
  machine: MachineMemory = thisMachine(),
): number {
  const { limitBytes, totalBytes } = machine;
  const least = memorySettings.MEMORY_MIB.minimum;
  const given =
    MEMORY_MIB === undefined
      ? (limitBytes ?? Math.min(totalBytes * PART_OF_MACHINE, MOST_OF_MACHINE_BYTES))
      : MEMORY_MIB * MIB;
  if (limitBytes !== undefined && given > limitBytes) {
    throw new ConfigError([
      `MEMORY_MIB is ${MEMORY_MIB}, but the container or unit may have ${inMib(limitBytes)} MiB, so the process would be killed: raise that limit, or leave MEMORY_MIB out.`,
    ]);
  }
  if (given < least * MIB) {
    const why = limitBytes === undefined ? "a quarter of this machine's memory is" : "the container or unit may have";
    throw new ConfigError([
      `MEMORY_MIB is not set, and ${why} ${inMib(given)} MiB: give the process ${least} MiB or more.`,
    ]);
  }
  return given;
}

function thisMachine(): MachineMemory {
  const totalBytes = totalmem();
  // Without a limit it is 0, or more than there is.
  const limit = process.constrainedMemory();
  return { limitBytes: limit > 0 && limit < totalBytes ? limit : undefined, totalBytes };
}

const inMib = (bytes: number) => Math.floor(bytes / MIB);
