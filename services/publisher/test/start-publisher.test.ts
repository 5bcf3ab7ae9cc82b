import { openDatabase } from "@herald/common/database/open-database";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { startPublisher } from "../src/index.ts";
import { readPartitions } from "../src/sql/partitions.ts";

const db = useDatabase({ partitioned: false });
const broker = useBroker();

const start = () =>
  startPublisher(
    {
      HERALD_ENV: "development",
      DATABASE_URL: db.url,
      AMQP_URL: broker.url,
      BROKER_NAMESPACE: broker.namespace,
      HTTP_HOST: "127.0.0.1",
      OPERATIONS_PORT: "0",
      LOG_LEVEL: "error",
    },
    { clock: steeredClock(new Date()) },
  );
const daysMade = () => readPartitions(db.database.queries);

test("a publisher starts while a program keeps the tables locked, without partitions", async () => {
  const program = openDatabase(db.url, { poolSize: 1 });
  try {
    await program.prisma.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`lock table delivery in share row exclusive mode`;
        const service = await start();
        expect(await daysMade()).toEqual([]);
        await service.stop();
      },
      { timeout: 120_000 },
    );
  } finally {
    await program.close();
  }
});

test("a publisher has made its partitions before it takes events", async () => {
  const service = await start();
  try {
    expect(await daysMade()).toHaveLength(17);
  } finally {
    await service.stop();
  }
});
