import { expect, test } from "@jest/globals";
import { table } from "./table.ts";

test("the table shows median, spread and bar, and says which bar was missed", () => {
  const figures = [
    {
      name: "rate",
      label: "deliveries",
      unit: "/s",
      bar: { atLeast: 2000 },
      values: [1900, 2100],
      median: 2000,
      lowest: 1900,
      highest: 2100,
      met: true,
    },
    {
      name: "memory",
      label: "resident",
      unit: "MiB",
      bar: { atMost: 160 },
      values: [200.4],
      median: 200.4,
      lowest: 200.4,
      highest: 200.4,
      met: false,
    },
    { name: "time", label: "p50", unit: "ms", values: [1.234], median: 1.234, lowest: 1.234, highest: 1.234 },
    {
      name: "bytes",
      label: "sent",
      unit: "B",
      values: [Number.NaN],
      median: Number.NaN,
      lowest: Number.NaN,
      highest: Number.NaN,
    },
  ] as const;
  const text = table([
    {
      name: "deliveries",
      title: "Deliveries",
      conditions: { endpoints: 20 },
      figures: figures.map((each) => ({ ...each, values: [...each.values] })),
    },
  ]);
  expect(text.split("\n").map((line) => line.replace(/ {2,}/g, "|"))).toEqual([
    "Deliveries",
    "|(endpoints: 20)",
    "|deliveries|2,000/s|1,900 - 2,100|met, >= 2,000/s",
    "|resident|200 MiB|200 - 200|MISSED, <= 160 MiB",
    "|p50|1.23 ms|1.23 - 1.23",
    "|sent|not known",
  ]);
});
