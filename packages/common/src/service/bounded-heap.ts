import { MIB, memorySettings } from "../config/common-settings.ts";
import { readConfig } from "../config/read-config.ts";
import { memoryBytes } from "./memory.ts";

/**
 * The part of a process's memory that V8's heap may take. The rest is for buffers, connections and code. In a container, V8 takes the same part by itself.
 */
const PART_OF_MEMORY = 1 / 2;

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

/**
 * glibc has parts of memory for threads, up to eight for each processor, and keeps what was freed in each of them. With two for all, and with what is
 * free at their end given back, each process takes some 8 MiB less. Other C libraries do not read these names.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: "2", MALLOC_TRIM_THRESHOLD_: "131072" };

/**
 * Bounds V8's heap by MEMORY_MIB. V8 takes such bounds only from Node's arguments, so this process becomes the same program once more, with them:
 * its id, its standard streams and its environment stay; {@link ALLOCATOR} is added. Only the entry of a program calls it, and before it loads a
 * service.
 *
 * It does nothing if the arguments are there already, if Node can't replace a process (before 22.15), or if the settings are wrong: the service
 * reports these itself.
 */
export function boundHeap(): void {
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
    `--max-old-space-size=${Math.floor((bytes * PART_OF_MEMORY) / MIB)}`,
    `--max-semi-space-size=${Math.max(LEAST_OF_NEW_OBJECTS_MIB, Math.floor((bytes * PART_OF_NEW_OBJECTS) / MIB))}`,
    NO_OBJECT_IS_MADE_OLD,
  ];
  const args = [process.execPath, ...bounds, ...process.execArgv, program, ...words];
  process.execve(process.execPath, args, { ...ALLOCATOR, ...process.env });
}
