import { existsSync, unwatchFile, watchFile } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";
import { startProcess } from "@herald/testkit/stack/processes";
import type { SupervisedService } from "./services.ts";

/** What every service is made of, besides its own folder. */
const SHARED = ["amqp", "common", "contracts"].map((name) => join("packages", name));
const CHECK_MS = 300;
/** The compiler finishes package after package: a restart waits for a pause of this length. */
const SETTLE_MS = 1_000;

/**
 * Runs the compiler in its watch mode, and restarts a service when a package that it is made of was compiled again.
 *
 * @returns ends this
 */
export async function restartOnBuild(
  services: readonly SupervisedService[],
  pidFolder: string,
  print: (text: string) => void,
): Promise<() => Promise<void>> {
  const root = projectFolder();
  const compiler = await startProcess({
    name: "compiler",
    command: process.execPath,
    args: [join(root, "node_modules", "typescript", "bin", "tsc"), "-b", "--watch", "--preserveWatchOutput", root],
    pidFolder,
    mark: root,
    onLine: (line) => {
      if (/error TS\d+|^\s+~|Found [1-9]/.test(line)) print(line);
    },
  });
  const waiting = new Map<SupervisedService, NodeJS.Timeout>();
  const watched: string[] = [];
  for (const service of services) {
    for (const folder of [...SHARED, join("services", service.name)]) {
      // The compiler writes this file last.
      const file = join(root, folder, "dist", ".tsbuildinfo");
      if (!existsSync(file)) continue;
      watched.push(file);
      watchFile(file, { interval: CHECK_MS }, () => {
        clearTimeout(waiting.get(service));
        waiting.set(
          service,
          setTimeout(() => void service.restart("it was compiled again"), SETTLE_MS),
        );
      });
    }
  }
  return async () => {
    for (const file of watched) unwatchFile(file);
    for (const timer of waiting.values()) clearTimeout(timer);
    await compiler.stop(1_000);
  };
}
