/** The rates of the table. */
const RATES = [10, 100, 1_000, 10_000];
/** Up to this rate `herald serve` is enough. Its memory is what it took at this rate, for ten minutes, with the default of MEMORY_MIB. */
const SERVE_UP_TO = 100;
const SERVE_MIB = 211;
/** Up to this rate a delivery costs what the bench measures at 200/s. */
const SLOW_UP_TO = 200;
/** Half of the cores' time stays free. */
const SPARE = 2;
/** DATABASE_POOL_SIZE, and one of the process itself. */
const CONNECTIONS = 11;
const DAY_S = 86_400;

/** The table of docs/operating/sizing.md, made of the figures in docs/scaling.md. */
export function sizingTable(scaling: string): string {
  const figure = (row: string): number => {
    const text = scaling.split(`\n| ${row} | `)[1];
    if (text === undefined) throw new Error(`docs/scaling.md has no row "${row}".`);
    return Number.parseFloat(text.replaceAll(",", ""));
  };
  const microseconds = {
    dispatcher: figure("CPU of the dispatcher"),
    publisher: figure("CPU of the publisher"),
    postgres: figure("CPU of PostgreSQL"),
    rabbit: figure("CPU of RabbitMQ"),
  };
  const all = Object.values(microseconds).reduce((sum, each) => sum + each, 0);
  const rows = RATES.map((rate) => {
    const slow = rate > SLOW_UP_TO ? 1 : figure("CPU of all four, at 200/s") / all;
    const cores = (service: keyof typeof microseconds) => (SPARE * slow * rate * microseconds[service]) / 1e6;
    // Two of each, so that one may end.
    const [publishers, dispatchers] = [cores("publisher"), cores("dispatcher")].map((each) =>
      Math.max(2, Math.ceil(each)),
    );
    const counts = { publisher: publishers ?? 0, dispatcher: dispatchers ?? 0, "management API": 2 };
    const isOne = rate <= SERVE_UP_TO;
    const processes = isOne ? 1 : Object.values(counts).reduce((sum, each) => sum + each, 0);
    const memory = Object.entries(counts).reduce(
      (sum, [name, count]) => sum + count * figure(`${name}, under load`),
      0,
    );
    const named = Object.entries(counts).map(([name, count]) => `${count} ${name}s`);
    return [
      rate.toLocaleString("en"),
      isOne ? "1, `herald serve`" : `${processes}: ${named.join(", ")}`,
      `${(isOne ? SERVE_MIB : memory).toLocaleString("en")} MiB`,
      String(processes * CONNECTIONS),
      ...[cores("publisher") + cores("dispatcher"), cores("postgres"), cores("rabbit")].map((each) =>
        (Math.ceil(each * 10) / 10).toFixed(1),
      ),
      `${Math.round((figure("PostgreSQL's log") * rate * DAY_S) / 1e9).toLocaleString("en")} GB`,
    ];
  });
  const heads = ["events/s", "processes of Herald", "their memory", "connections to PostgreSQL"];
  const resources = ["cores: Herald", "PostgreSQL", "RabbitMQ", "PostgreSQL's disk a day, at most"];
  const table = [[...heads, ...resources], Array(8).fill("---"), ...rows];
  return table.map((row) => `| ${row.join(" | ")} |`).join("\n");
}
