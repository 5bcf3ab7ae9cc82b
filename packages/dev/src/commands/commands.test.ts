import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EVENT_TYPES, type EventPayload, samplePayload } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import { projectFolder } from "../stack/folders.ts";
import { DEFAULT_LIFE, FULL_ACCESS } from "../start/development-token.ts";
import { changesOf, eventFrom } from "./events.ts";

const defaults = { organizationId: "acme" };
const samples = new Map<string, EventPayload>(EVENT_TYPES.map((type) => [type, samplePayload(type)]));

describe("one event", () => {
  test.each(EVENT_TYPES)("%s is complete by its name alone", (type) => {
    const event = eventFrom({ ...defaults, type }, samples);
    expect(event).toEqual({
      organizationId: "acme",
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type,
      occurredAtUtc: expect.stringMatching(/Z$/),
      entityType: expect.any(String),
      entityId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      data: { changes: expect.any(Object) },
    });
  });

  test("§6 a work item's completion is a change of its status to Done", () => {
    expect(eventFrom({ ...defaults, type: "WorkItemCompleted" }, samples)).toMatchObject({
      entityType: "WorkItem",
      data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
    });
  });

  test("the command line overrides what is typical for the type", () => {
    const data = { changes: { Name: { oldValue: null, newValue: "x" } } };
    expect(eventFrom({ ...defaults, type: "RiskCreated", entityType: "Peril", data }, samples)).toMatchObject({
      entityType: "Peril",
      data,
    });
  });
});

describe("--change", () => {
  test.each([
    ["Status=InProgress:Done", { Status: { oldValue: "InProgress", newValue: "Done" } }],
    ["Owner=:Ada", { Owner: { oldValue: null, newValue: "Ada" } }],
    ["Owner=Ada:", { Owner: { oldValue: "Ada", newValue: null } }],
    ["Start=9:10:30", { Start: { oldValue: "9", newValue: "10:30" } }],
  ])("%s", (text, changes) => {
    expect(changesOf([text])).toEqual(changes);
  });

  test("no --change leaves the changes to what is typical for the type", () => {
    expect(changesOf([])).toBeUndefined();
  });

  test.each(["Status", "Status=Done", "=a:b"])("%s is refused, with how to write it", (text) => {
    expect(() => changesOf([text])).toThrow("Field=old:new");
  });
});

const source = readFileSync(join(projectFolder(), "packages/dev/src/commands/token.ts"), "utf8");
const [, help] = /^const HELP = `(.*?)`;$/ms.exec(source) ?? [];

test("the help of pnpm token names each default", () => {
  for (const value of [FULL_ACCESS.permissions, DEFAULT_LIFE]) expect(help).toContain(String(value));
});
