import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { EVENT_SCHEMA_KINDS, eventSchemaFiles } from "@herald/contracts/schemas";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { afterAll, expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS } from "../../../src/child.ts";
import { pythonPackages } from "../openapi/tools.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-schemas-"));
afterAll(() => rmSync(folder, { recursive: true }));

const HERE = fileURLToPath(new URL("./", import.meta.url));

/** Changes to a sample, and the verdicts of a validator with formats and of one without. */
const CHANGES: [change: object, verdicts: [withFormats: boolean, without: boolean]][] = [
  [{}, [true, true]],
  [{ more: 1 }, [true, true]],
  [{ occurredAtUtc: "2026-01-31T12:00:00.123456789Z" }, [true, true]],
  [{ type: "Another" }, [false, false]],
  [{ id: "7" }, [false, false]],
  [{ entityId: null }, [false, false]],
  [{ occurredAtUtc: "2026-01-31T12:00:00" }, [false, false]],
  [{ occurredAtUtc: "0000-01-31T12:00:00Z" }, [false, false]],
  // Only the format knows which days there are.
  [{ occurredAtUtc: "2026-02-30T12:00:00Z" }, [false, true]],
  [{ data: { changes: { Hours: { oldValue: 7, newValue: "8" } } } }, [false, false]],
];

test(
  "jsonschema for Python reads the schema of each event and request, and says of each body what it has to",
  async () => {
    const { python, env } = await pythonPackages(join(HERE, "jsonschema.txt"));
    for (const kind of EVENT_SCHEMA_KINDS) mkdirSync(join(folder, kind));
    for (const [file, schema] of Object.entries(eventSchemaFiles())) writeFileSync(join(folder, file), schema);
    const child = spawn(python, ["-B", join(HERE, "validate.py"), folder], { env, stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.end(`${JSON.stringify(CHANGES.map(([change]) => change))}\n`);
    const verdicts = JSON.parse(await text(child.stdout)) as Record<string, unknown>;
    const expected = CHANGES.map(([, verdict]) => verdict);
    expect(verdicts).toEqual(Object.fromEntries(Object.keys(eventSchemaFiles()).map((file) => [file, expected])));
  },
  STACK_TIMEOUT_MS + BUILD_TIMEOUT_MS,
);
