import type { StoredResults } from "@herald/bench/bench/results";
import { expect, test } from "@jest/globals";
import { sizingTable } from "./sizing.ts";

function results(rows: Record<string, Record<string, number>>): StoredResults {
  const machine = { cores: 2, processor: "Xeon", memoryGibibytes: 8, node: "v20.20.0", loadBefore: 0.1 };
  const measured = Object.entries(rows).map(([name, figures]) => ({
    name,
    title: name,
    conditions: {},
    figures: Object.entries(figures).map(([figure, median]) => ({
      name: figure,
      label: figure,
      unit: "us" as const,
      values: [median],
      median,
      lowest: median,
      highest: median,
    })),
  }));
  return { runs: [{ machine, commit: "abc", date: "2026-01-01", seconds: 5, rounds: 1, rows: measured }] };
}

const MEASURED = {
  deliveries: { publisherCpu: 100, dispatcherCpu: 400, postgresCpu: 200, rabbitmqCpu: 300, wal: 2_000 },
  latency: { cpu: 5_000 },
  memory: { "load-publisher": 160, "load-dispatcher": 150, "load-management-api": 110 },
};

test("a small rate takes one process, and each event costs more than at full speed", () => {
  const [, , ten, hundred] = sizingTable(results(MEASURED)).split("\n");
  expect(ten).toBe("| 10 | 1, `herald serve` | 200 MiB | 11 | 0.1 | 0.1 | 0.1 | 1.8 GB |");
  expect(hundred).toBe("| 100 | 1, `herald serve` | 200 MiB | 11 | 0.5 | 0.2 | 0.3 | 17.3 GB |");
});

test("a large rate takes two of each service, and more where half of their cores would not do", () => {
  const [, , , , thousand, tenThousand] = sizingTable(results(MEASURED)).split("\n");
  expect(thousand).toBe(
    "| 1,000 | 6: 2 publishers, 2 dispatchers, 2 management APIs | 850 MiB | 66 | 1 | 0.4 | 0.6 | 172.8 GB |",
  );
  expect(tenThousand).toBe(
    "| 10,000 | 12: 2 publishers, 8 dispatchers, 2 management APIs | 1,750 MiB | 132 | 10 | 4 | 6 | 1,728 GB |",
  );
});

test("without a measurement of all that it takes there is no table", () => {
  const { memory: _memory, ...fewer } = MEASURED;
  expect(sizingTable(results(fewer))).toBe("Not measured yet.");
});
