import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EVENT_TYPES, type EventPayload, samplePayload } from "@herald/contracts";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { changesOf, eventFrom, eventsOfFile } from "./events.ts";

const defaults = { organizationId: "acme" };
const samples = new Map<string, EventPayload>(EVENT_TYPES.map((type) => [type, samplePayload(type)]));

describe("one event", () => {
  test.each(EVENT_TYPES)("%s is complete by its name alone", (type) => {
    const event = eventFrom({}, { ...defaults, type }, samples);
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
    expect(eventFrom({}, { ...defaults, type: "WorkItemCompleted" }, samples)).toMatchObject({
      entityType: "WorkItem",
      data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
    });
  });

  test("the command line overrides what is typical for the type", () => {
    const data = { changes: { Name: { oldValue: null, newValue: "x" } } };
    expect(eventFrom({}, { ...defaults, type: "RiskCreated", entityType: "Peril", data }, samples)).toMatchObject({
      entityType: "Peril",
      data,
    });
  });

  test("an event without a type is refused", () => {
    expect(() => eventFrom({}, defaults, samples)).toThrow(/no type/);
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

describe("--file", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "herald-events-"));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  function write(text: string): string {
    const file = join(folder, "events.ndjson");
    writeFileSync(file, text);
    return file;
  }

  test("each line is an event; what it leaves out is filled in", async () => {
    const file = write('{"type":"RiskCreated","organizationId":"other"}\n\n{"id":"1"}\r\n');
    const events = await eventsOfFile(file, { ...defaults, type: "ProjectCreated" }, samples);
    expect(events.map(({ type, organizationId }) => [type, organizationId])).toEqual([
      ["RiskCreated", "other"],
      ["ProjectCreated", "acme"],
    ]);
    expect(events[1]?.id).toBe("1");
  });

  test.each(["[1]", "nonsense", '"text"'])("%s on a line is refused with the line's number", async (line) => {
    await expect(eventsOfFile(write(`{"type":"RiskCreated"}\n${line}\n`), defaults, samples)).rejects.toThrow(
      /line 2: /,
    );
  });

  test("a file that is missing or empty is refused with its name", async () => {
    await expect(eventsOfFile(join(folder, "none"), defaults, samples)).rejects.toThrow(/none cannot be read: ENOENT/);
    await expect(eventsOfFile(write("\n"), defaults, samples)).rejects.toThrow(/holds no events/);
  });
});
