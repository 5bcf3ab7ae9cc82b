import { runService } from "@herald/common/service/run-service";
import { action, type Command } from "../command.ts";

export const serveCommand: Command = {
  summary: "runs the three services in one process",
  help: `For small installations: publisher, dispatcher and management API share one pool of DATABASE_POOL_SIZE (10) connections to PostgreSQL,
two connections to RabbitMQ, and one OPERATIONS_PORT (9464) with /healthz, /readyz and /metrics. It reads the settings of all three, which
docs/configuration.md lists. It runs until it is stopped: SIGTERM lets it finish what is in flight, within 20 seconds. Where a part
of it fails beyond repair, all of it ends with exit code 1, to be started again.

Run herald migrate before it, and again before each new version. Further processes may run beside it, of this kind or of a single service.
`,
  actions: {
    "": action({
      async run(_, { environment }) {
        // Loaded now, since no other command needs the services.
        const { readServeConfig, startServe } = await import("./start-serve.ts");
        // The settings are read before it runs as a service, so that faults in them are reported as by any command.
        readServeConfig(environment);
        await runService("serve", () => startServe(environment));
      },
    }),
  },
};
