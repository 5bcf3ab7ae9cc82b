import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { apiClient } from "../../../src/herald/api-client.ts";
import { type ServiceProcess, startServiceProcess } from "../../../src/herald/processes.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";
import { documentedMetrics, projectFile } from "./project-files.ts";

const running: ServiceProcess[] = [];
// Ahead of the hooks that look for connections that were left open.
afterAll(() => Promise.all(running.map((service) => service.stop())));

const db = useDatabase();
const broker = useBroker();
const SERVICES = ["management-api", "publisher", "dispatcher"] as const;

/** What each service exports. */
const exported = {} as Record<(typeof SERVICES)[number], string>;

beforeAll(async () => {
  const place = { databaseUrl: db.url, amqpUrl: broker.url, namespace: broker.namespace, caFile: "" };
  running.push(...(await Promise.all(SERVICES.map((name) => startServiceProcess(name, heraldSettings(place))))));
  const api = await apiClient(`http://127.0.0.1:${running[0]?.port}`);
  await api.create({ url: "https://receiver.example.com/hooks" });
  for (const [index, name] of SERVICES.entries()) {
    const url = `${running[index]?.operationsUrl}/metrics`;
    exported[name] = await (await fetch(url, { headers: { connection: "close" } })).text();
  }
}, 60_000);

test("docs/operating/metrics.md lists what running services export, and nothing else", () => {
  const rows = [
    ...projectFile("docs/operating/metrics.md").matchAll(
      /^\| `(herald_\w+)` \| (\w+) \| [^|]* \| ([^|]*) \| (.*) \|$/gm,
    ),
  ];
  for (const [service, text] of Object.entries(exported)) {
    const found = [...text.matchAll(/^# HELP (herald_\w+ .*)\n# TYPE \w+ (\w+)$/gm)];
    const documented = rows.filter(([, , , services = ""]) => services.split(", ").includes(service));
    expect(found.map(([, nameAndHelp, type]) => `${nameAndHelp} ${type}`).sort()).toEqual(
      documented.map(([, name, type, , help]) => `${name} ${help} ${type}`).sort(),
    );
  }
});

test("every series has the labels that docs/operating/metrics.md says", () => {
  // A histogram's buckets have the label `le` besides.
  const withoutBuckets = (labels: Iterable<string>) => [...labels].filter((label) => label !== "le").sort();
  const documented = documentedMetrics();
  for (const text of Object.values(exported)) {
    for (const [, series = "", labels = ""] of text.matchAll(/^(herald_\w+)\{(.*)\} /gm)) {
      const found = [...labels.matchAll(/(\w+)="/g)].map(([, name = ""]) => name);
      expect([series, ...withoutBuckets(found)]).toEqual([series, ...withoutBuckets(documented.get(series) ?? [])]);
    }
  }
});

test("a scrape shows counters before they first count", () => {
  const { publisher, dispatcher } = exported;
  expect(publisher).toContain('\nherald_events_total{result="rejected",service="publisher"} 0\n');
  expect(publisher).toContain(
    '\nherald_notices_total{type="endpoint.disabled",result="failed",service="publisher"} 0\n',
  );
  expect(dispatcher).toContain('\nherald_attempts_total{outcome="failed",service="dispatcher"} 0\n');
  expect(dispatcher).toContain('\nherald_attempts_in_flight{source="manual",service="dispatcher"} 0\n');
});
