import { totalmem } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { MIB, memorySettings } from "../config/common-settings.ts";
import { ConfigError, readConfig } from "../config/read-config.ts";
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

/**
 * The part of a process's memory for V8's heap. The rest is for buffers, connections and code. In a container, V8 takes a half by itself. Large events are a
 * publisher's garbage outside the heap: the more room the heap has, the later V8 looks for them.
 */
const partOfMemory = (service: string | undefined) => (service === "publisher" ? 1 / 3 : 1 / 2);

/**
 * V8 keeps two such parts for new objects once they have been full; on a large machine it would keep 128 MiB each. In a busy dispatcher an attempt
 * lives for some 100 ms, in which 10 MB of objects are made: in less room, most attempts are copied before they end.
 */
const PART_OF_NEW_OBJECTS = 1 / 32;
const LEAST_OF_NEW_OBJECTS_MIB = 8;

/**
 * V8 would make objects of a kind that often survived old from their first moment. In a dispatcher, some of what an attempt is made of comes to that in its first
 * seconds. Garbage among old objects keeps alive whatever it refers to, and so each attempt as a whole, until a full collection finds it.
 */
export const NO_OBJECT_IS_MADE_OLD = "--no-allocation-site-pretenuring";

/** V8 would collect all of a small heap whenever it has grown by a third or so, several times a second in a busy process. Where there is room, it may double. */
const MAY_DOUBLE = "--heap-growing-percent=100";

/**
 * glibc has parts of memory for threads, up to eight for each processor, and keeps what was freed in each of them. With two for all, and with what is
 * free at their end given back, each process takes some 8 MiB less. Other C libraries do not read these names.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: "2", MALLOC_TRIM_THRESHOLD_: "131072" };

/**
 * Gives V8's heap a part of MEMORY_MIB. V8 takes such bounds only from Node's arguments, so this process becomes the same program once more, with them:
 * its id, its standard streams and its environment stay; {@link ALLOCATOR} is added. Only the entry of a program calls it, and before it loads a
 * service.
 *
 * It does nothing if the arguments are there already, if Node can't replace a process (before 22.15), or if the settings are wrong: the service
 * reports these itself.
 */
export function boundHeap(service?: string): void {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].some((text) =>
    text.includes("--max-old-space-size"),
  );
  const [program, ...words] = process.argv.slice(1);
  if (given || !process.execve || program === undefined) return;
  let bytes: number;
  try {
    bytes = memoryBytes(readConfig(memorySettings));
  } catch {
    return;
  }
  const bounds = [
    `--max-old-space-size=${Math.floor((bytes * partOfMemory(service)) / MIB)}`,
    `--max-semi-space-size=${Math.max(LEAST_OF_NEW_OBJECTS_MIB, Math.floor((bytes * PART_OF_NEW_OBJECTS) / MIB))}`,
    NO_OBJECT_IS_MADE_OLD,
    ...(bytes >= 2 * BASE_BYTES ? [MAY_DOUBLE] : []),
  ];
  const args = [process.execPath, ...bounds, ...process.execArgv, program, ...words];
  process.execve(process.execPath, args, { ...ALLOCATOR, ...process.env });
}

/**
 * Gives back what the start took for new objects, up to 25 MiB of a process: V8 keeps it otherwise, also in a process that has little to do from then on.
 * Node offers this collection only by a flag of V8.
 */
export function collectAfterStart(): void {
  setFlagsFromString("--expose-gc");
  const collect: NodeJS.GCFunction = runInNewContext("gc");
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
