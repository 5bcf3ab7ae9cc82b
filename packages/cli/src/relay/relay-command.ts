import { readConfig } from "@herald/common/config/read-config";
import { runService } from "@herald/common/service/run-service";
import { replayOutbox } from "@herald/emitter/outbox";
import { action, type Command, timeOf } from "../command.ts";
import { withOutboxPool } from "./outbox-database.ts";
import { outboxSettings, relaySettings } from "./relay-settings.ts";
import { startRelayService } from "./start-relay-service.ts";

const replay = action({
  changes: true,
  usage: "--since TIME",
  options: { since: { type: "string" } },
  async run(values, { environment, stdout, stderr }) {
    const since = timeOf("--since", values.since);
    const { OUTBOX_DATABASE_URL, OUTBOX_TABLE: table } = readConfig(outboxSettings, environment);
    const count = await withOutboxPool(OUTBOX_DATABASE_URL, (pool) =>
      replayOutbox({ pool, table, since, onStep: (rows) => stderr(`${rows} events\n`) }),
    );
    stdout(`${count} ${count === 1 ? "event waits" : "events wait"} again in ${table}.\n`);
    return { events: count };
  },
});

export const relayCommand: Command = {
  summary: "sends what services write into an outbox",
  actions: {
    "": action({
      changes: false,
      async run(_, { environment }) {
        const config = readConfig(relaySettings, environment);
        await runService("relay", () => startRelayService(config));
      },
    }),
    replay,
  },
  help: `Without more words it runs until it is stopped. It sends the events of the table OUTBOX_TABLE (herald_outbox) in the database
OUTBOX_DATABASE_URL (PostgreSQL) to the broker AMQP_URL, oldest first, and keeps what the broker has confirmed for
OUTBOX_KEEP_DAYS (7). Any number of relays may run for a table: one at a time sends, and another goes on where it ends. It serves /healthz,
/readyz and /metrics on OPERATIONS_PORT (9464). It also reads AMQP_CA_FILE, BROKER_NAMESPACE, HTTP_HOST, LOG_LEVEL, HERALD_ENV and ALLOW_PLAINTEXT.

  replay   makes events wait again that the broker confirmed since TIME, such as 2026-01-31T12:00:00Z, and that are still kept. Running
           relays send them, before what is new. Herald delivers the same event once, so a TIME that is too early does no harm. For a
           broker, or a Herald, that was restored from a backup
`,
};
