import { table } from "@herald/docs/blocks";
import { SERVE_MEBIBYTES } from "@herald/e2e/herald/serve-memory";
import type { StoredResults } from "../results.ts";
import { measuredOf } from "./measured.ts";

/** Events a second, each with one delivery. */
const RATES = [10, 100, 1_000, 10_000];

/** Up to here one process does, and programs wake up for each event: the bench measures that at 200/s. */
const QUIET_PER_SECOND = 200;

/** Of a core's time. The other half is for a day's busy hours, for catching up, and for noisy neighbours. */
const BUSY_SHARE = 0.5;

/** The default of DATABASE_POOL_SIZE, and the one of /readyz. */
const CONNECTIONS_A_PROCESS = 11;

/** Of each service, so that one may end at any time. */
const FEWEST_PROCESSES = 2;

/** What the bench says of a delivery at full speed, in us and bytes, and of the processes under load, in MiB. */
interface Costs {
  publisher: number;
  dispatcher: number;
  postgres: number;
  rabbitmq: number;
  /** All four of a delivery at a low rate. */
  quiet: number;
  walBytes: number;
  memory: Record<"publisher" | "dispatcher" | "management-api", number>;
}

/** The generated block of docs/operating/sizing.md. */
export function sizingTable(results: StoredResults): string {
  const costs = costsOf(results);
  if (costs === undefined) return "Not measured yet.";
  const heads = [
    "events/s",
    "processes of Herald",
    "their memory",
    "connections to PostgreSQL",
    "cores: Herald",
    "PostgreSQL",
    "RabbitMQ",
    "PostgreSQL's disk a day, at the most",
  ];
  return table(
    heads,
    RATES.map((rate) => line(rate, costs)),
  );
}

function line(rate: number, costs: Costs): string[] {
  const { publisher, dispatcher, postgres, rabbitmq, quiet, walBytes, memory } = costs;
  const isQuiet = rate <= QUIET_PER_SECOND;
  const dearer = isQuiet ? quiet / (publisher + dispatcher + postgres + rabbitmq) : 1;
  const cores = (microseconds: number) => (rate * microseconds * dearer) / 1_000_000 / BUSY_SHARE;
  const count = (microseconds: number) => Math.max(FEWEST_PROCESSES, Math.ceil(cores(microseconds)));
  const publishers = count(publisher);
  const dispatchers = count(dispatcher);
  const processes = isQuiet ? 1 : publishers + dispatchers + FEWEST_PROCESSES;
  const mebibytes = isQuiet
    ? SERVE_MEBIBYTES
    : publishers * memory.publisher + dispatchers * memory.dispatcher + FEWEST_PROCESSES * memory["management-api"];
  return [
    rate.toLocaleString("en"),
    isQuiet
      ? "1, `herald serve`"
      : `${processes}: ${publishers} publishers, ${dispatchers} dispatchers, ${FEWEST_PROCESSES} management APIs`,
    `${(Math.ceil(mebibytes / 50) * 50).toLocaleString("en")} MiB`,
    String(processes * CONNECTIONS_A_PROCESS),
    tenths(cores(publisher + dispatcher)),
    tenths(cores(postgres)),
    tenths(cores(rabbitmq)),
    `${tenths((rate * walBytes * 86_400) / 1_000 ** 3)} GB`,
  ];
}

/** Rounded up, so that nothing comes to 0. */
function tenths(value: number): string {
  return (Math.ceil(value * 10) / 10).toLocaleString("en");
}

/** Undefined where the bench has not measured one of them. */
function costsOf(results: StoredResults): Costs | undefined {
  const medianOf = (row: string, figure: string) => measuredOf(results, row, figure)?.median ?? Number.NaN;
  const costs: Costs = {
    publisher: medianOf("deliveries", "publisherCpu"),
    dispatcher: medianOf("deliveries", "dispatcherCpu"),
    postgres: medianOf("deliveries", "postgresCpu"),
    rabbitmq: medianOf("deliveries", "rabbitmqCpu"),
    quiet: medianOf("latency", "cpu"),
    walBytes: medianOf("deliveries", "wal"),
    memory: {
      publisher: medianOf("memory", "load-publisher"),
      dispatcher: medianOf("memory", "load-dispatcher"),
      "management-api": medianOf("memory", "load-management-api"),
    },
  };
  const { memory, ...others } = costs;
  return [...Object.values(others), ...Object.values(memory)].some(Number.isNaN) ? undefined : costs;
}
