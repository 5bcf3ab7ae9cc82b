import { tryEmitter } from "../examples/try-emitter.ts";
import { tryReceiver } from "../examples/try-receiver.ts";

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
