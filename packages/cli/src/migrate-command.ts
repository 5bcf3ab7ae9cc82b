import { migrate } from "@herald/common/database/migrate";
import { type Command, UsageError } from "./command.ts";
import { databaseAddress } from "./database.ts";

export const migrateCommand: Command = {
  summary: "brings the database's schema up to date",
  help: `herald migrate: brings the database's schema up to date

  herald migrate

DATABASE_URL names the database; its user must own the schema. Run it before the services of a new version start. It may run
beside services, several times at once, and again: no migration is applied twice.
`,
  async run(args, context) {
    if (args.length > 0) throw new UsageError("It takes no arguments.");
    const { url, ca } = databaseAddress(context);
    const { applied } = await migrate(url, { ca, onProgress: context.progress });
    context.stdout(applied.length === 0 ? "The database is up to date.\n" : `Applied ${applied.join(", ")}.\n`);
  },
};
