import { withClient } from "@herald/testkit/stack/postgres";
import { heraldSettings } from "../../herald/settings.ts";
import type { ChaosEnvironment } from "../environment/open-environment.ts";
import type { SupervisedService } from "../environment/supervisor.ts";
import type { CellServers } from "../environment/two-cells.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { heraldCommand } from "./herald-command.ts";

/** Between two looks whether the giving database has erased what it had. */
const LOOK_EVERY_MS = 500;

/** Moves a bucket of the first cell to the second one, as docs/operating/cells.md says it, while events go on. */
export async function moveBucket(
  environment: ChaosEnvironment<CellServers>,
  bucket: string,
  { pause, progress }: { pause: (durationMs: number) => Promise<void>; progress: (text: string) => void },
): Promise<InjectedFault> {
  const { servers, services } = environment;
  const [giving, taking] = servers.cells;
  const all = [...services.values()];
  const from = Date.now();
  progress(`The first Herald leaves bucket ${bucket}`);
  await restartWith(
    all.filter(({ label }) => label.endsWith("-1")),
    giving.buckets.filter((each) => each !== bucket),
  );
  progress(`Moving bucket ${bucket}`);
  const settings = {
    DATABASE_URL: taking.databaseUrl().href,
    FROM_DATABASE_URL: giving.databaseUrl().href,
    SECRET_KEYS: heraldSettings({ databaseUrl: "", amqpUrl: "", namespace: "", caFile: "" }).SECRET_KEYS ?? "",
  };
  await heraldCommand(environment, settings, "buckets", "move", bucket);
  progress(`The second Herald begins with bucket ${bucket}`);
  await restartWith(
    all.filter(({ label }) => label.endsWith("-2")),
    [...taking.buckets, bucket],
  );
  servers.giveToSecond(bucket);
  const until = Date.now();
  await heraldCommand(environment, settings, "buckets", "forget", bucket);
  // What it has of the history until then would be counted beside the second one's.
  while ((await countErasures(giving.databaseUrl())) > 0) await pause(LOOK_EVERY_MS);
  return { kind: "bucket-moved", target: `bucket ${bucket}`, from, until };
}

async function restartWith(services: readonly SupervisedService[], buckets: readonly string[]): Promise<void> {
  for (const service of services) service.runWith({ INBOX_BUCKETS: buckets.join(",") });
  await Promise.all(services.map((service) => service.restart(0)));
  await Promise.all(services.map((service) => service.ready()));
}

async function countErasures(databaseUrl: URL): Promise<number> {
  return await withClient(databaseUrl.href, async (client) => {
    const { rows } = await client.query<{ count: number }>("select count(*)::int as count from erasure");
    return rows[0]?.count ?? 0;
  });
}
