import { readFileSync } from "node:fs";
import { join } from "node:path";
import { askForGo, askForLanguage, askForMono, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { FRAMEWORKS, tryFrameworks } from "../../../src/receivers/frameworks.ts";
import { LANGUAGES, type Programs, tryLanguage } from "../../../src/receivers/languages.ts";
import { BUILD_TIMEOUT_MS } from "../../../src/receivers/output.ts";
import { STANDARD_WEBHOOKS, tryStandardWebhooks } from "../../../src/receivers/standard-webhooks.ts";
import { namesTried } from "../../../src/receivers/tried.ts";

const programs: Programs = {
  language: async (name) => (await askForLanguage(name)).executable,
  go: async () => (await askForGo()).executable,
  mono: askForMono,
};
const TIMEOUT_MS = STACK_TIMEOUT_MS + 3 * BUILD_TIMEOUT_MS;
const libraries = STANDARD_WEBHOOKS.filter(({ build }) => build);

test.each(LANGUAGES)(
  "§4.4.3 the receiver in $name accepts good requests and refuses the others of the table",
  async (language) => {
    expect(await tryLanguage(language, programs)).toMatchObject({ name: language.name });
  },
  TIMEOUT_MS,
);

test(
  "§4.4.3 the receivers of each framework accept good requests and refuse the others of the table",
  async () => {
    expect((await tryFrameworks()).map(({ name }) => name)).toEqual(FRAMEWORKS.map(({ name }) => name));
  },
  TIMEOUT_MS,
);

test.each(libraries)(
  "the library of Standard Webhooks for $name takes the secret as it is shown",
  async (library) => {
    expect(await tryStandardWebhooks(library, programs)).toMatchObject({ name: library.name });
  },
  TIMEOUT_MS,
);

test("the documents call tried what a test tries, and nothing else", () => {
  const page = readFileSync(join(projectFolder(), "docs", "receiving-webhooks.md"), "utf8");
  const names = (all: readonly { name: string }[]) => all.map(({ name }) => name);
  expect(namesTried(page, "receiver")).toEqual(names(LANGUAGES));
  expect(namesTried(page, "framework")).toEqual(names(FRAMEWORKS));
  expect(namesTried(page, "library for")).toEqual(names(libraries));
});
