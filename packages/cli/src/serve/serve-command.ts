import { runService, type Service } from "@herald/common/service/run-service";
import { action, type Command, onlyWord, UsageError } from "../command.ts";

/** Loaded when it is run: no other command needs the services. */
const SERVICES = new Map<string, () => Promise<() => Promise<Service>>>([
  ["management-api", async () => (await import("@herald/management-api")).startManagementApi],
  ["publisher", async () => (await import("@herald/publisher")).startPublisher],
  ["dispatcher", async () => (await import("@herald/dispatcher")).startDispatcher],
]);

export const serveCommand: Command = {
  summary: "runs the three services in one process, or one of them",
  help: `SERVICE is management-api, publisher or dispatcher: one of the three alone, with its own settings.

Without it, or with "all", for small installations: publisher, dispatcher and management API share one pool of DATABASE_POOL_SIZE (10) connections to PostgreSQL,
two connections to RabbitMQ, and one OPERATIONS_PORT (9464) with /healthz, /readyz and /metrics. It reads the settings of all three, which
docs/configuration.md lists. It runs until it is stopped: SIGTERM lets it finish what is in flight, within 20 seconds. Where a part
of it fails beyond repair, all of it ends with exit code 1, to be started again.

Run herald migrate before it, and again before each new version. Further processes may run beside it, of this kind or of a single service.
`,
  actions: {
    "": action({
      changes: false,
      usage: "[SERVICE | all]",
      words: true,
      async run(_, { environment }, words) {
        if (words.length > 0 && words.join() !== "all") {
          const name = onlyWord(words, "the name of one service, or none");
          const load = SERVICES.get(name);
          if (!load) throw new UsageError(`It takes one of ${[...SERVICES.keys(), "all"].join(", ")}, or none.`);
          return await runService(name, await load());
        }
        const { readServeConfig, startServe } = await import("./start-serve.ts");
        // The settings are read before it runs as a service, so that faults in them are reported as by any command.
        readServeConfig(environment);
        await runService("serve", () => startServe(environment));
      },
    }),
  },
};
