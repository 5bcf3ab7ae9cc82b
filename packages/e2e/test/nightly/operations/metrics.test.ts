import { readFileSync } from "node:fs";
import { join } from "node:path";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { apiClient } from "../../../src/herald/api-client.ts";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "../../../src/herald/processes.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";
import { documentedMetrics } from "./project-files.ts";

const db = useDatabase();
const broker = useBroker();
const document = readFileSync(join(projectFolder(), "docs", "operating", "metrics.md"), "utf8");
const SERVICES = ["management-api", "publisher", "dispatcher"] as const;

const running: Partial<Record<ServiceName, ServiceProcess>> = {};

describe("the services' metrics", () => {
  beforeAll(async () => {
    const place = { databaseUrl: db.url, amqpUrl: broker.url, namespace: broker.namespace, caFile: "" };
    await Promise.all(
      SERVICES.map(async (name) => {
        running[name] = await startServiceProcess(name, heraldSettings(place));
      }),
    );
    const api = await apiClient(`http://127.0.0.1:${running["management-api"]?.port}`);
    await api.create({ url: "https://receiver.example.com/hooks" });
  }, 60_000);
  afterAll(() => Promise.all(Object.values(running).map((service) => service.stop())));

  async function scrape(name: ServiceName): Promise<string> {
    const response = await fetch(`${running[name]?.operationsUrl}/metrics`, { headers: { connection: "close" } });
    expect(response.status).toBe(200);
    return await response.text();
  }

  async function scrapeAll(): Promise<Record<ServiceName, string>> {
    const texts = await Promise.all(SERVICES.map(async (name) => [name, await scrape(name)] as const));
    return Object.fromEntries(texts) as Record<ServiceName, string>;
  }

  test("docs/operating/metrics.md lists what running services export, and nothing else", async () => {
    const rows = [...document.matchAll(/^\| `(herald_\w+)` \| (\w+) \| [^|]* \| ([^|]*) \| (.*) \|$/gm)];
    for (const [service, text] of Object.entries(await scrapeAll())) {
      const exported = [...text.matchAll(/^# HELP (herald_\w+ .*)\n# TYPE \w+ (\w+)$/gm)];
      const documented = rows.filter(([, , , services = ""]) => services.split(", ").includes(service));
      expect(exported.map(([, nameAndHelp, type]) => `${nameAndHelp} ${type}`).sort()).toEqual(
        documented.map(([, name, type, , help]) => `${name} ${help} ${type}`).sort(),
      );
    }
  });

  test("every series has the labels that docs/operating/metrics.md says", async () => {
    // A histogram's buckets have the label `le` besides.
    const withoutBuckets = (labels: Iterable<string>) => [...labels].filter((label) => label !== "le").sort();
    const documented = documentedMetrics();
    for (const text of Object.values(await scrapeAll())) {
      for (const [, series = "", labels = ""] of text.matchAll(/^(herald_\w+)\{(.*)\} /gm)) {
        const exported = [...labels.matchAll(/(\w+)="/g)].map(([, name = ""]) => name);
        expect([series, ...withoutBuckets(exported)]).toEqual([
          series,
          ...withoutBuckets(documented.get(series) ?? []),
        ]);
      }
    }
  });

  test("a scrape shows counters before they first count", async () => {
    const { publisher, dispatcher } = await scrapeAll();
    expect(publisher).toContain('\nherald_events_total{result="rejected",service="publisher"} 0\n');
    expect(publisher).toContain(
      '\nherald_notices_total{type="endpoint.disabled",result="failed",service="publisher"} 0\n',
    );
    expect(dispatcher).toContain('\nherald_attempts_total{outcome="failed",service="dispatcher"} 0\n');
    expect(dispatcher).toContain('\nherald_attempts_in_flight{source="manual",service="dispatcher"} 0\n');
  });
});
