import { existsSync, unwatchFile, watch, watchFile } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "../stack/folders.ts";
import { runProgram } from "../stack/programs.ts";
import type { SupervisedService } from "./services.ts";

/** What every service is made of, besides its own folder. */
const SHARED = ["amqp", "common", "contracts"].map((name) => join("packages", name));
const CHECK_MS = 300;
/** Editors write several files at once, and the compiler finishes package after package: each is waited for this long. */
const SETTLE_MS = 500;

/**
 * Compiles the services when their sources change, and restarts a service when a package that it is made of was compiled.
 *
 * @returns ends this
 */
export function restartOnBuild(
  services: readonly SupervisedService[],
  print: (text: string) => void,
): () => Promise<void> {
  const root = projectFolder();
  const folders = services.map((service) => join("services", service.name));
  let compiling = Promise.resolve();
  const compile = async () => {
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const targets = folders.map((folder) => join(root, folder));
    await runProgram(process.execPath, [compiler, "-b", ...targets], { what: "Compiling" }).catch((error: Error) =>
      print(error.message),
    );
  };
  const changed = settled(() => {
    compiling = compiling.then(compile);
  });
  const sources = [...SHARED, ...folders]
    .map((folder) => join(root, folder, "src"))
    .filter((folder) => existsSync(folder))
    .map((folder) => watch(folder, { recursive: true }, changed));

  // The compiler writes this file of a package last.
  const builds = (service: SupervisedService) =>
    [...SHARED, join("services", service.name)].map((folder) => join(root, folder, "dist", ".tsbuildinfo"));
  for (const service of services) {
    const restart = settled(() => void service.restart("it was compiled again"));
    for (const file of builds(service)) {
      // For a file that does not exist the listener is called at once, with the time 0 twice.
      watchFile(file, { interval: CHECK_MS }, (now, before) => now.mtimeMs !== before.mtimeMs && restart());
    }
  }
  return async () => {
    for (const source of sources) source.close();
    for (const file of services.flatMap(builds)) unwatchFile(file);
    await compiling;
  };
}

/** Runs a task when its calls have paused. */
function settled(task: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(task, SETTLE_MS);
  };
}
