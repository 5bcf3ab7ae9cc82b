import { expect, test } from "@jest/globals";
import type { BenchEnvironment } from "./environment.ts";
import type { Row } from "./row.ts";
import { runRow } from "./run-row.ts";

const options = { seconds: 1, growth: 1, rounds: 3, progress: () => {} };

/** Measures what its environment says. */
const row: Row = {
  name: "row",
  title: "A row",
  figures: { time: { label: "time", unit: "ms" }, size: { label: "size", unit: "B" } },
  compared: { time: { atMost: 0.5 } },
  open: async (environment) => ({
    conditions: {},
    round: async () => ({ time: Number(environment.ca), size: 7 }),
    close: async () => {},
  }),
};
const environment = (time: number) => ({ ca: String(time) }) as BenchEnvironment;

test("a compared figure stands beside the baseline's, and their ratio has to reach its bar", async () => {
  const { figures } = await runRow(row, environment(4), { ...options, baseline: environment(10) });
  expect(figures.map(({ name, median, met }) => [name, median, met])).toEqual([
    ["time", 4, undefined],
    ["timeBaseline", 10, undefined],
    ["timeToBaseline", 0.4, true],
    ["size", 7, undefined],
  ]);
});

test("a baseline that can't be measured is told of, and a row has its own figures then", async () => {
  const told: string[] = [];
  const lacking: Row = {
    ...row,
    async open(of, ...rest) {
      if (of.ca === "10") throw new Error("it has no such table");
      return await row.open(of, ...rest);
    },
  };
  const progress = (text: string) => told.push(text);
  const { figures } = await runRow(lacking, environment(4), { ...options, progress, baseline: environment(10) });
  expect(figures.map(({ name }) => name)).toEqual(["time", "size"]);
  expect(told).toContain("The baseline can't be measured: it has no such table");
});

test("without a baseline a row has its own figures alone", async () => {
  const { figures } = await runRow(row, environment(4), options);
  expect(figures.map(({ name }) => name)).toEqual(["time", "size"]);
});

test("a figure that is only shown beside the baseline's has no ratio", async () => {
  const shown: Row = { ...row, compared: { time: "shown" } };
  const { figures } = await runRow(shown, environment(4), { ...options, baseline: environment(10) });
  expect(figures.map(({ name }) => name)).toEqual(["time", "timeBaseline", "size"]);
});

test("a row that is measured for several histories says for which", async () => {
  expect(await runRow({ ...row, grows: true }, environment(4), options)).toMatchObject({ name: "row", growth: 1 });
  expect(await runRow(row, environment(4), options)).not.toHaveProperty("growth");
});
