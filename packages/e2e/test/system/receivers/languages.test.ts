import { readFileSync } from "node:fs";
import { join } from "node:path";
import { askForGo, askForLanguage, askForMono, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, LANGUAGES, type Programs } from "../../../src/receivers/languages.ts";
import { TRIED_RECEIVERS, type TriedReceiver, tryReceiver } from "../../../src/receivers/tried.ts";

const programs: Programs = {
  language: async (name) => (await askForLanguage(name)).executable,
  go: async () => (await askForGo()).executable,
  mono: askForMono,
};

test.each(LANGUAGES)(
  "§4.4.3 the receiver in $name accepts good requests and refuses the others of the table",
  async (language) => {
    expect(await tryReceiver(language, programs)).toMatchObject({ language: language.name, checks: expect.any(Number) });
  },
  STACK_TIMEOUT_MS + 3 * BUILD_TIMEOUT_MS,
);

test("the documents say of each receiver what ran it, and of no other", () => {
  const tried = JSON.parse(readFileSync(join(projectFolder(), TRIED_RECEIVERS), "utf8")) as TriedReceiver[];
  expect(tried.map(({ language }) => language)).toEqual(LANGUAGES.map(({ name }) => name));
});
