import { describe, expect, test } from "@jest/globals";
import { MIB, memorySettings } from "../config/common-settings.ts";
import { type MachineMemory, memoryBounds } from "./memory.ts";

const GIB = 1024 * MIB;
const FREE: MachineMemory = { limitBytes: undefined, totalBytes: 16 * GIB };
const LEAST_MIB = memorySettings.MEMORY_MIB.minimum;

describe("what a process may hold at once", () => {
  test.each<[string, number | undefined, MachineMemory, sameAsMib: number]>([
    ["MEMORY_MIB, where it is set", 300, FREE, 300],
    ["else the container's limit", undefined, { ...FREE, limitBytes: GIB }, 1024],
    ["else a quarter of the machine", undefined, { ...FREE, totalBytes: GIB }, 256],
    ["of a large machine 512 MiB", undefined, FREE, 512],
  ])("follows from %s", (_what, MEMORY_MIB, machine, sameAsMib) => {
    expect(memoryBounds({ MEMORY_MIB }, machine)).toEqual(memoryBounds({ MEMORY_MIB: sameAsMib }, FREE));
  });

  test.each([LEAST_MIB, 512, memorySettings.MEMORY_MIB.maximum])("fits into %d MiB, and all of it can work", (mib) => {
    const bounds = memoryBounds({ MEMORY_MIB: mib }, FREE);
    const { inboxBytes, bodiesBytes, inFlight, clients } = bounds;
    expect(inboxBytes + bodiesBytes + inFlight * 75_000 + clients * 10_000).toBeLessThan((mib - 128) * MIB);
    expect(Math.min(...Object.values(bounds))).toBeGreaterThanOrEqual(50);
    expect(inboxBytes).toBeGreaterThanOrEqual(16 * MIB);
  });

  test.each<[string, number | undefined, MachineMemory, RegExp]>([
    ["MEMORY_MIB above the limit", 1024, { ...FREE, limitBytes: 512 * MIB }, /MEMORY_MIB is 1024.* may have 512 MiB/],
    ["a limit that is too low", undefined, { ...FREE, limitBytes: 100 * MIB }, /may have 100 MiB: give .* 176 MiB/],
    ["a machine that is too small", undefined, { ...FREE, totalBytes: 400 * MIB }, /this machine's memory is 100 MiB/],
  ])("%s is refused with what to do", (_what, MEMORY_MIB, machine, words) => {
    expect(() => memoryBounds({ MEMORY_MIB }, machine)).toThrow(words);
  });
});
