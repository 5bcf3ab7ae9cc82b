import { spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "@herald/dev/harness/eventually";
import { answers, freePort } from "@herald/dev/stack/ports";
import { checkReceiver } from "@herald/listen";
import { tryEmitter } from "../examples/try-emitter.ts";

/** Only this trial uses it: Base64 like a real one, which a wrong verifier would decode. */
const EXAMPLE_SECRET = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";

/** Starts a receiver, which listens on PORT and verifies with WEBHOOK_SECRET, and tries it by `herald-listen check`. @throws where a check fails */
async function tryReceiver([program = "", ...args]: readonly string[]): Promise<void> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: EXAMPLE_SECRET };
  const child = spawn(program, args, { env, stdio: ["ignore", process.stderr, process.stderr] });
  const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  const endedFirst = ended.then((code) => Promise.reject(new Error(`${program} ended with ${code}.`)));
  endedFirst.catch(() => undefined);
  try {
    const listens = eventually(async () => {
      if (!(await answers(port))) throw new Error(`${program} does not listen on its PORT.`);
    });
    await Promise.race([listens, endedFirst]);
    const url = new URL(`http://127.0.0.1:${port}/webhooks`);
    const results = await checkReceiver({ url, secret: EXAMPLE_SECRET });
    const faults = results.filter(({ passed }) => !passed).map(({ title, fault }) => `${title}: ${fault}`);
    if (faults.length > 0) throw new Error(faults.join("\n"));
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
  }
}

// Each examples/*/test.sh calls this by $TRY, with the kind of the program and the command that starts it.
const [kind, ...command] = process.argv.slice(2);
const { AMQP_URL = "" } = process.env;

const trials: Record<string, () => Promise<void>> = {
  receiver: () => tryReceiver(command),
  emitter: () => tryEmitter(command, AMQP_URL),
};

const trial = trials[kind ?? ""];
if (trial === undefined || command.length === 0) {
  console.error(`It takes one of ${Object.keys(trials).join(", ")}, and the command that starts it.`);
  process.exit(2);
}
await trial().catch((error: Error) => {
  console.error(`${command.join(" ")} fails: ${error.message}`);
  process.exitCode = 1;
});
