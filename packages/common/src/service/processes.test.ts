import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_CATALOGUE } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import { eventTypeSettings } from "../config/event-types.ts";
import type { Settings } from "../config/settings.ts";
import { newSealingKeys } from "../security/sealing-keys.ts";
import { differencesOf, type Facts, factsOf, haveOtherKey, type Process } from "./processes.ts";

const SETTINGS = {
  DAYS: { type: "number", default: 30, shared: true, description: "How long." },
  REGION: { type: "string", shared: true, description: "Where." },
  PORT: { type: "integer", default: 80, description: "What to listen on." },
  SECRET_KEYS: { type: "string", secret: true, shared: true, description: "What opens." },
  SECRET_SEALING_KEY: { type: "string", shared: true, description: "What seals." },
} as const satisfies Settings;
const [OLD, NEW] = [newSealingKeys("old"), newSealingKeys("new")];
const opens = (...pairs: (typeof OLD)[]) =>
  factsOf(SETTINGS, { SECRET_KEYS: pairs.map(({ SECRET_KEYS }) => SECRET_KEYS).join(",") });
const seals = ({ SECRET_SEALING_KEY }: typeof OLD) => factsOf(SETTINGS, { SECRET_SEALING_KEY });

const held = (mark: string, heldSeconds: number) => ({ mark, heldSeconds });

const process = (service: string, facts: Facts): Process => ({ id: service, service, name: "a:1", facts });

test("a process's facts are the settings that must be the same, and neither the private nor the public key", () => {
  const facts = factsOf(SETTINGS, { DAYS: 8, REGION: undefined, PORT: 81, ...OLD });
  expect(facts).toEqual({
    DAYS: 8,
    REGION: null,
    SECRET_KEYS: expect.stringMatching(/^old \([0-9a-f]{8}\)$/),
    SECRET_SEALING_KEY: facts.SECRET_KEYS,
  });
});

test("processes compare their catalogues by what the files say, and none says what the default one says", () => {
  const folder = mkdtempSync(join(tmpdir(), "herald-facts-"));
  try {
    const factsFrom = (name: string, catalogue: object) => {
      const EVENT_TYPES_FILE = join(folder, name);
      writeFileSync(EVENT_TYPES_FILE, JSON.stringify(catalogue));
      return factsOf(eventTypeSettings, { EVENT_TYPES_FILE });
    };
    const own = { paid: { entityType: "Invoice", emittedWhen: "an invoice is paid", sample: {} } };
    const [api, publisher] = [factsFrom("a.json", own), factsFrom("b.json", own)];
    const none = factsOf(eventTypeSettings, {});
    expect(differencesOf([process("api", api), process("publisher", publisher)])).toEqual([]);
    expect(differencesOf([process("api", none), process("p", factsFrom("c.json", DEFAULT_CATALOGUE))])).toEqual([]);
    expect(differencesOf([process("api", api), process("publisher", none)])).toEqual([
      {
        setting: "EVENT_TYPES_FILE",
        what: expect.stringMatching(
          /^EVENT_TYPES_FILE is 1 types \(\w{12}\) in api a:1, and \d types \(\w{12}\) in publisher/,
        ),
      },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a key that another process has under an id, and this one does not, may open what this one can't", () => {
  const [other, api] = [newSealingKeys("old"), process("api", seals(OLD))];
  const right = process("dispatcher", opens(NEW, OLD));
  expect(haveOtherKey([api, right], opens(other), "old")).toBe(true);
  expect(haveOtherKey([api, right], opens(other), "new")).toBe(true);
  expect(haveOtherKey([api, right], opens(OLD), "old")).toBe(false);
  expect(haveOtherKey([api, right], opens(other), "ol")).toBe(false);
  expect(haveOtherKey([api], opens(other), "old")).toBe(false);
});

describe("different settings of processes", () => {
  const [oldMark, newMark] = [seals(OLD).SECRET_SEALING_KEY, seals(NEW).SECRET_SEALING_KEY];
  test.each<[string, Process[], string[]]>([
    ["nothing", [process("api", { DAYS: 8, REGION: null }), process("publisher", { DAYS: 8 })], []],
    ["what only one of them knows", [process("api", { DAYS: 8 }), process("publisher", { REGION: "a" })], []],
    [
      "a value",
      [process("publisher", { DAYS: 30 }), process("api", { DAYS: 8 }), process("dispatcher", { DAYS: 30 })],
      ["DAYS is 8 in api a:1, and 30 in dispatcher a:1, publisher a:1."],
    ],
    [
      "a value that one of them lacks",
      [process("api", { REGION: null }), process("publisher", { REGION: "b" })],
      ["REGION is not set in api a:1, and b in publisher a:1."],
    ],
    [
      "other authorities than another one for two minutes",
      [process("api", { CA: held("a1", 9_000) }), process("publisher", { CA: held("b2", 120) })],
      ["CA is a1 in api a:1, and b2 in publisher a:1."],
    ],
    [
      "nothing while a file of authorities is exchanged, though other processes have the new one already",
      [
        process("api", { CA: held("a1", 9_000) }),
        process("p", { CA: held("b2", 119) }),
        process("q", { CA: held("b2", 5) }),
      ],
      [],
    ],
    [
      "other authorities for as long as one process has had them",
      [
        process("api", { CA: held("a1", 9_000) }),
        process("p", { CA: held("b2", 500) }),
        process("q", { CA: held("b2", 5) }),
      ],
      ["CA is a1 in api a:1, and b2 in p a:1, q a:1."],
    ],
    ["the same authorities", [process("api", { CA: held("a1", 9_000) }), process("p", { CA: held("a1", 200) })], []],
    ["keys in another order", [process("one", opens(OLD, NEW)), process("two", opens(NEW, OLD))], []],
    ["a key that fits", [process("api", seals(OLD)), process("dispatcher", opens(NEW, OLD))], []],
    [
      "a key that opens nothing",
      [process("api", seals(OLD)), process("dispatcher", opens(NEW))],
      [`SECRET_SEALING_KEY is ${oldMark} in api a:1, and SECRET_KEYS of dispatcher a:1 are ${newMark}.`],
    ],
    [
      "keys of which none fits, once",
      [process("api", seals(OLD)), process("dispatcher", opens(NEW)), process("e", opens(NEW))],
      [
        `SECRET_SEALING_KEY is ${oldMark} in api a:1, and SECRET_KEYS of dispatcher a:1 are ${newMark}, and of e a:1 are ${newMark}.`,
      ],
    ],
    [
      "keys that differ, of which one does not fit, once",
      [process("api", seals(OLD)), process("dispatcher", opens(NEW)), process("e", opens(NEW, OLD))],
      [`SECRET_SEALING_KEY is ${oldMark} in api a:1, and SECRET_KEYS of dispatcher a:1 are ${newMark}.`],
    ],
  ])("is said with who has it: %s", (_what, processes, words) => {
    const known = processes.map((each) => ({
      ...each,
      facts: Object.fromEntries(
        Object.entries(each.facts).filter(([name, value]) => name === "REGION" || value !== null),
      ),
    }));
    expect(differencesOf(known).map(({ what }) => what)).toEqual(words);
  });
});
