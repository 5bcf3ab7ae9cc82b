import { readFileSync } from "node:fs";

/**
 * Preloaded (`node --import`) by a process whose machine's clock shall be wrong: `Date` is ahead by the milliseconds that the file
 * CLOCK_AHEAD_FILE holds, also when they change. The monotonic clock and the timers are not touched, as when a person sets the clock of
 * a machine; nor is what the operating system itself does by the clock, such as judging certificates.
 */
const READ_EVERY_MS = 20;

const MachineDate = Date;
const machineNow = MachineDate.now;
let aheadMs = 0;

function read(): void {
  try {
    aheadMs = Number(readFileSync(process.env.CLOCK_AHEAD_FILE as string, "utf8"));
  } catch {
    // The program that wrote the file has ended, and this process is about to.
  }
}

read();
setInterval(read, READ_EVERY_MS).unref();
MachineDate.now = () => machineNow() + aheadMs;
globalThis.Date = new Proxy(MachineDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length > 0 ? args : [target.now()], newTarget),
  apply: (target) => new target(target.now()).toString(),
});
