import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
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
    stderr: "2 events, and none breaks the contract.\n",
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

test("herald events check goes by the clock and by the window of publishers", async () => {
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
