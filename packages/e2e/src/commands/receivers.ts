import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "@herald/testkit/commands/run-command";
import { projectFolder } from "@herald/testkit/stack/folders";
import { findOrInstallGo, findOrInstallLanguage, findOrInstallMono } from "@herald/testkit/stack/test-programs";
import { tryFrameworks } from "../receivers/frameworks.ts";
import { LANGUAGES, type Programs, tryLanguage } from "../receivers/languages.ts";
import { STANDARD_WEBHOOKS, tryStandardWebhooks } from "../receivers/standard-webhooks.ts";
import { type AllTried, TRIED_RECEIVERS, type Tried } from "../receivers/tried.ts";

const HELP = `Tries the receivers of examples/, and writes what ran them into ${TRIED_RECEIVERS}.

  pnpm receivers

Installs the languages that are missing. Then run pnpm run docs, which makes tables of it.`;

const programs: Programs = {
  language: findOrInstallLanguage,
  go: async () => (await findOrInstallGo()).executable,
  mono: findOrInstallMono,
};

await runCommand(HELP, async () => {
  const all: AllTried = { receivers: [], frameworks: [], standardWebhooks: [] };
  for (const language of LANGUAGES) all.receivers.push(told(await tryLanguage(language, programs)));
  for (const framework of await tryFrameworks()) all.frameworks.push(told(framework));
  for (const library of STANDARD_WEBHOOKS) {
    if (library.build) all.standardWebhooks.push(told(await tryStandardWebhooks(library, programs)));
  }
  writeFileSync(join(projectFolder(), TRIED_RECEIVERS), `${JSON.stringify(all, null, 2)}\n`);
});

function told(tried: Tried): Tried {
  console.log(`${tried.name}: ${tried.version}`);
  return tried;
}
