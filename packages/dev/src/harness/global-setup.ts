import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { localFolder } from "../stack/folders.ts";
import { isAlive } from "../stack/lock-file.ts";
import { removePostgresData } from "../stack/postgres-programs.ts";
import { TEST_STACK_URL } from "./stack-client.ts";
import { startTestStack } from "./test-stack.ts";

const RUN_FOLDER = /^test-(\d+)$/;

let stack: Awaited<ReturnType<typeof startTestStack>> | undefined;

/** Jest's globalSetup: runs once, before all test files, in jest's own process. */
export default async function setUp(): Promise<void> {
  const local = localFolder();
  removeDeadRuns(local);
  stack = await startTestStack(join(local, `test-${process.pid}`));
  process.env[TEST_STACK_URL] = stack.url;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      void tearDown().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
    });
  }
}

export async function tearDown(): Promise<void> {
  const ending = stack;
  stack = undefined;
  await ending?.stop();
}

/** A run that was killed leaves its data; the next run removes them. */
function removeDeadRuns(local: string): void {
  for (const name of readdirSync(local)) {
    const pid = RUN_FOLDER.exec(name)?.[1];
    if (pid === undefined || isAlive({ pid: Number(pid), mark: "jest" })) continue;
    removePostgresData(join(local, name, "postgres"));
    rmSync(join(local, name), { recursive: true, force: true });
  }
}
