import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { migrate } from "@herald/common/database/migrate";
import { action, type Command } from "./command.ts";
import { databaseAddress } from "./connections.ts";

const { DATABASE_TIMEOUT_SECONDS } = serviceSettings;

export const migrateCommand: Command = {
  summary: "brings the database's schema up to date",
  help: `DATABASE_URL names the database; its user must own the schema. Herald's users of deploy/postgres get the rights that they need, where
they are there, and the database gets defaults that Herald's statements are made for:
DATABASE_TIMEOUT_SECONDS among them, as the services have it. With pgbouncer=true in the services' DATABASE_URL, give it to this one
too. Where its user does not own the database and the defaults are others, it prints what the owner has to run.

Run it before the services of a new version start. It may run beside services, several times at once, and again: no migration is
applied twice.
`,
  actions: {
    "": action({
      changes: true,
      async run(_, context) {
        const { url, caFile } = databaseAddress(context.environment);
        const config = readConfig({ DATABASE_TIMEOUT_SECONDS }, context.environment);
        const {
          applied,
          granted = [],
          leftToOwner = [],
        } = await migrate(url, {
          caFile,
          statementTimeoutMs: config.DATABASE_TIMEOUT_SECONDS * 1_000,
          onProgress: context.progress,
        });
        context.stdout(applied.length === 0 ? "The database is up to date.\n" : `Applied ${applied.join(", ")}.\n`);
        if (granted.length > 0) context.stdout(`Rights are given to ${granted.join(", ")}.\n`);
        if (leftToOwner.length > 0) {
          const lines = leftToOwner.map((each) => `  ${each};\n`).join("");
          context.stderr(`This user doesn't own the database. Its owner has to run:\n${lines}`);
        }
        return { applied };
      },
    }),
  },
};
