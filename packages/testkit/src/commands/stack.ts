import { rmSync } from "node:fs";
import { join } from "node:path";
import { announceSharedStack, withdrawSharedStack } from "../harness/shared-stack.ts";
import { getJson } from "../harness/stack-client.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { localFolder } from "../stack/folders.ts";
import { removePostgresData } from "../stack/postgres-programs.ts";
import { endStaleProcesses } from "../stack/processes.ts";
import { letGo, takeHold } from "../stack/single-instance.ts";
import { stopRequest } from "../stack/stop-request.ts";

// Keeps PostgreSQL and RabbitMQ up for test runs, which then begin at once: for whoever runs one test again and again.
const local = localFolder();
const holdFile = join(local, "stack.json");
const other = takeHold(holdFile);
if (other !== undefined) {
  console.error(`A test stack runs already, as process ${other.pid}. Test runs of this checkout use it.`);
  process.exit(1);
}
process.on("exit", () => letGo(holdFile));
const request = stopRequest();

const folder = join(local, "test-stack");
await endStaleProcesses(join(folder, "pids"));
removePostgresData(join(folder, "postgres"));
rmSync(folder, { recursive: true, force: true });

console.log("Starting PostgreSQL and RabbitMQ ...");
const stack = await startTestStack(folder);
try {
  await Promise.all([getJson(`${stack.url}/postgres`), getJson(`${stack.url}/rabbitmq`)].map(assertAnswer));
  announceSharedStack(local, stack.url);
  console.log("Ready. Test runs of this checkout use them until ctrl-C.");
  await request.asked;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  withdrawSharedStack(local);
  await stack.stop();
}
process.exit();

async function assertAnswer(answer: Promise<unknown>): Promise<void> {
  const { error } = (await answer) as { error?: string };
  if (error !== undefined) throw new Error(error);
}
