import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Catalogue, DEFAULT_CATALOGUE } from "@herald/contracts";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import { callHerald, runHerald } from "./run-herald.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-events-"));
afterAll(() => rmSync(folder, { recursive: true }));

const event = {
  organizationId: "acme",
  id: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111",
  type: "WorkItemCompleted",
  occurredAtUtc: "2025-11-20T15:00:00.000Z",
  entityType: "WorkItem",
  entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
  data: {},
};
const AT = ["--at", "2025-11-21T00:00:00Z"];

function file(content: string): string {
  const path = join(folder, "events");
  writeFileSync(path, content);
  return path;
}

const lines = (...values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

test("herald events check says nothing of events that keep the contract", async () => {
  expect(await runHerald(["events", "check", file(lines(event, event)), ...AT])).toEqual({
    code: 0,
    stdout: "",
    stderr: "2 events, none of which breaks the contract.\n",
  });
});

test("herald events check names each line that breaks the contract, with the publisher's reason", async () => {
  const content = `${lines(event, { ...event, entityId: "7" })}{"id":\n`;
  const { code, stdout, stderr } = await callHerald(["events", "check", file(content), ...AT]);
  expect(code).toBe(1);
  expect(stdout.split("\n")).toEqual([
    "line 2: rejected: /entityId must be a UUID",
    expect.stringContaining("line 3: rejected: the body is not valid JSON"),
    "",
  ]);
  expect(stderr).toContain("2 of 3 events break the contract.");
});

test("herald events check tells what would be dropped without a breach, and takes an array", async () => {
  const early = { ...event, occurredAtUtc: "2025-11-01T00:00:00Z" };
  const content = JSON.stringify([event, { ...event, type: "WorkItemMoved" }, early], null, 2);
  const { code, stdout } = await callHerald(["events", "check", file(content), ...AT]);
  expect(code).toBe(0);
  expect(stdout).toBe(
    "event 2: ignored: Herald does not deliver WorkItemMoved\nevent 3: stale: it is older than events are delivered\n",
  );
});

test("herald events check goes by the clock and by the window that publishers are told", async () => {
  const fresh = { ...event, occurredAtUtc: new Date().toISOString() };
  expect(await callHerald(["events", "check", file(lines(fresh))])).toMatchObject({ code: 0, stdout: "" });
  const settings = { PUBLICATION_WINDOW_DAYS: "0.1" };
  const { stdout } = await callHerald(["events", "check", file(lines(event)), ...AT], settings);
  expect(stdout).toContain("line 1: stale");
});

test("herald events check says which file it can't read", async () => {
  const missing = join(folder, "missing");
  const { code, stderr } = await callHerald(["events", "check", missing]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${missing} can't be read`);
});

const catalogue: Catalogue = {
  ...DEFAULT_CATALOGUE,
  "invoice.paid": {
    entityType: "Invoice",
    emittedWhen: "an invoice is paid",
    sample: { total: "119.00", lines: [{ amount: 1 }] },
    dataSchema: {
      type: "object",
      required: ["total", "lines"],
      properties: {
        total: { type: "string", description: "In euros. */" },
        "paid-by": { enum: ["card", "transfer"] },
        lines: { type: "array", items: { $ref: "#/$defs/line" } },
        parent: { $ref: "#/$defs/tree" },
        note: { type: ["string", "null"] },
      },
      $defs: {
        line: { type: "object", required: ["amount"], properties: { amount: { type: "integer" } } },
        tree: { type: "object", properties: { of: { $ref: "#/$defs/tree" } }, additionalProperties: false },
      },
    },
  },
};

const EVENT_TYPES_FILE = join(folder, "event-types.json");
writeFileSync(EVENT_TYPES_FILE, JSON.stringify(catalogue));

async function printed(language: string): Promise<string> {
  const { code, stdout, stderr } = await callHerald(["events", "types", "--language", language], { EVENT_TYPES_FILE });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

/** What the compiler says of a program that has the module in front. */
function errorsOf(program: string): string[] {
  const file = join(folder, "program.ts");
  writeFileSync(file, program);
  const compiler = join(projectFolder(), "node_modules/.bin/tsc");
  const options = ["--ignoreConfig", "--noEmit", "--strict", "--target", "es2022", "--types", "", file];
  const { stdout } = spawnSync(compiler, options, { encoding: "utf8" });
  return stdout.split("\n").filter((line) => line.includes("error TS"));
}

const EVENT = `{ id: "1", occurredAtUtc: "2026-01-31T12:00:00Z", entityType: "Invoice", entityId: "2", type: "invoice.paid" }`;

test("the module in TypeScript knows names, and the data of a type that has a schema", async () => {
  const types = await printed("typescript");
  const using = `
    declare const event: HeraldEvent;
    if (event.type === "invoice.paid") {
      const total: string = event.data.total;
      const amount: number | undefined = event.data.lines[0]?.amount;
      const by: "card" | "transfer" | undefined = event.data["paid-by"];
      const before: string | null | undefined = event.data.changes?.Status?.oldValue;
      console.log(total, amount, by, before, event.data.anything);
    }
    if (event.type === "RiskCreated") console.log(event.data.changes);
    const paid: EventOf<"invoice.paid"> = { ...${EVENT.replace('type: "invoice.paid"', 'type: "invoice.paid" as const')}, data: { total: "7.00", lines: [] } };
    console.log(EVENT_TYPES.includes(paid.type));`;
  expect(errorsOf(types + using)).toEqual([]);
  const misusing = `
    const lacking: EventOf<"invoice.paid"> = { ...${EVENT.replace('type: "invoice.paid"', 'type: "invoice.paid" as const')}, data: { lines: [] } };
    const unknown: EventType = "invoice.payed";
    console.log(lacking, unknown);`;
  expect(errorsOf(types + misusing)).toEqual([
    expect.stringContaining("Type '{ lines: never[]; }' is not assignable"),
    expect.stringContaining('"invoice.payed"'),
  ]);
});

test("the module in Python runs, and knows the same", async () => {
  writeFileSync(join(folder, "herald_events.py"), await printed("python"));
  const program = `
import json, typing
import herald_events as events
data = typing.get_type_hints(events.InvoicePaid)["data"]
print(json.dumps([
    events.EVENT_TYPES,
    typing.get_args(events.EventType)[-1],
    sorted(data.__required_keys__),
    sorted(data.__optional_keys__),
    str(typing.get_type_hints(data)["note"]),
    len(typing.get_args(events.HeraldEvent)),
]))`;
  const output = execFileSync("python3", ["-B", "-c", program], { cwd: folder, encoding: "utf8" });
  expect(JSON.parse(output)).toEqual([
    Object.keys(catalogue),
    "invoice.paid",
    ["lines", "total"],
    ["changes", "note", "paid-by", "parent"],
    "str | None",
    8,
  ]);
});

test("the JSON Schema takes what receivers get of each type, and refuses other data", async () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false });
  const keeps = ajv.compile(JSON.parse(await printed("json-schema")) as object);
  const event = JSON.parse(EVENT.replaceAll(/(\w+): "/g, '"$1": "')) as Record<string, unknown>;
  const id = "00000000-0000-4000-8000-000000000001";
  const paid = { ...event, id, entityId: id, data: { total: "7.00", lines: [{ amount: 1 }] } };
  expect(keeps(paid)).toBe(true);
  expect(keeps({ ...paid, type: "RiskCreated", data: {} })).toBe(true);
  expect(keeps({ ...paid, data: { total: "7.00", lines: [{ amount: "1" }] } })).toBe(false);
  expect(keeps({ ...paid, type: "invoice.payed" })).toBe(false);
});

test("in JSON it is the file itself; without a file, that of the types that Herald has by itself", async () => {
  expect(JSON.parse(await printed("json"))).toEqual(catalogue);
  const { stdout } = await callHerald(["events", "types", "--language", "json"], {});
  expect(JSON.parse(stdout)).toEqual(DEFAULT_CATALOGUE);
  expect((await callHerald(["events", "types", "--language", "cobol"], {})).code).toBe(2);
});

test("a file that can't be used ends the command as it ends a service, with what and where", async () => {
  const file = join(folder, "bad.json");
  writeFileSync(file, JSON.stringify({ "invoice.paid": { ...catalogue["invoice.paid"], sample: { total: 119 } } }));
  const { code, stderr } = await callHerald(["events", "types"], { EVENT_TYPES_FILE: file });
  expect(code).toBe(78);
  expect(stderr).toContain("bad.json: /invoice.paid/sample must have required property 'lines'");
});
