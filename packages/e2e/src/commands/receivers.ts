import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "@herald/testkit/commands/run-command";
import { projectFolder } from "@herald/testkit/stack/folders";
import { findOrInstallGo, findOrInstallLanguage, findOrInstallMono } from "@herald/testkit/stack/test-programs";
import { LANGUAGES, type Programs } from "../receivers/languages.ts";
import { TRIED_RECEIVERS, type TriedReceiver, tryReceiver } from "../receivers/tried.ts";

const HELP = `Tries the receivers of examples/ in every language, and writes what ran them into ${TRIED_RECEIVERS}.

  pnpm receivers

Installs the languages that are missing. Then run pnpm run docs, which makes a table of it.`;

const programs: Programs = {
  language: findOrInstallLanguage,
  go: async () => (await findOrInstallGo()).executable,
  mono: findOrInstallMono,
};

await runCommand(HELP, async () => {
  const tried: TriedReceiver[] = [];
  for (const language of LANGUAGES) {
    const result = await tryReceiver(language, programs);
    console.log(`${result.language}: passed ${result.checks} checks on ${result.version}`);
    tried.push(result);
  }
  writeFileSync(join(projectFolder(), TRIED_RECEIVERS), `${JSON.stringify(tried, null, 2)}\n`);
});
