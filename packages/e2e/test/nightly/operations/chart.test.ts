import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { projectFile } from "./queries.ts";

// What needs no Helm. chart/chart.test.ts renders the chart and holds it to Kubernetes' schemas.

const chartFile = (name: string) => projectFile(`deploy/helm/herald/${name}`);
const values = parse(chartFile("values.yaml")) as Record<string, unknown>;

test("the chart's README names each value", () => {
  const readme = chartFile("README.md");
  expect(leaves(values).filter((path) => !readme.includes(`\`${path}\``))).toEqual([]);
});

test("the chart is of Herald's version", () => {
  const { version } = JSON.parse(projectFile("package.json")) as { version: string };
  expect(parse(chartFile("Chart.yaml"))).toMatchObject({ version, appVersion: version });
});

/** Paths of what can be set; of objects that are handed on as they are, and of references to Secrets, the path of the whole. */
function leaves(node: Record<string, unknown>, path: string[] = []): string[] {
  return Object.entries(node).flatMap(([name, value]) => {
    const own = [...path, name];
    const isWhole =
      typeof value !== "object" || value === null || Array.isArray(value) || name === "resources" || "key" in value;
    const inner = isWhole ? [] : Object.keys(value);
    return inner.length === 0 ? [own.join(".")] : leaves(value as Record<string, unknown>, own);
  });
}
