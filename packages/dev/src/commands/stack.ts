import { join } from "node:path";
import { announceSharedStack, getJson, withdrawSharedStack } from "../harness/stack-client.ts";
import { removeTestStack, startTestStack } from "../harness/test-stack.ts";
import { localFolder } from "../stack/folders.ts";
import { acquireLock, releaseLock } from "../stack/lock-file.ts";
import { apartByVersion, postgresVersion } from "../stack/postgres-programs.ts";
import { rabbitmqVersion } from "../stack/rabbitmq-versions.ts";
import { stopRequest } from "../stack/stop-request.ts";
import { runCommand } from "./run-command.ts";

const HELP = `Keeps PostgreSQL and RabbitMQ up for the tests, so that each test run of this checkout begins at once. ctrl-C ends it.

  pnpm stack

POSTGRES_VERSION and RABBITMQ_VERSION choose other versions; a test run that names the same ones uses them.`;

await runCommand(HELP, async () => {
  const local = localFolder();
  const lockFile = join(local, `${apartByVersion("stack")}.json`);
  const other = acquireLock(lockFile);
  if (other !== undefined)
    throw new Error(`A test stack runs already, as process ${other.pid}. Test runs of this checkout use it.`);
  process.on("exit", () => releaseLock(lockFile));
  const request = stopRequest();
  const folder = join(local, apartByVersion("test-stack"));
  await removeTestStack(folder);

  console.log(`Starting PostgreSQL ${postgresVersion()} and RabbitMQ ...`);
  const stack = await startTestStack(folder);
  try {
    await Promise.all(
      [getJson(`${stack.url}/postgres`), getJson(`${stack.url}/rabbitmq/${rabbitmqVersion()}`)].map(assertAnswer),
    );
    announceSharedStack(local, stack.url);
    console.log("Ready. Test runs of this checkout use them until ctrl-C.");
    await request.asked;
  } finally {
    withdrawSharedStack(local);
    await stack.stop();
  }
});
process.exit();

async function assertAnswer(answer: Promise<unknown>): Promise<void> {
  const { error } = (await answer) as { error?: string };
  if (error !== undefined) throw new Error(error);
}
