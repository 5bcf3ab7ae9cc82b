import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "@herald/testkit/commands/run-command";
import { projectFolder } from "@herald/testkit/stack/folders";
import { startRabbitmq } from "@herald/testkit/stack/rabbitmq";
import { findOrInstallGo, findOrInstallLanguage, findOrInstallMono } from "@herald/testkit/stack/test-programs";
import { makeEmitterUser } from "../emitters/emitter-user.ts";
import { EMITTERS } from "../emitters/languages.ts";
import { TRIED_EMITTERS, tryEmitter, withEmitter } from "../emitters/try-emitter.ts";
import type { Programs } from "../receivers/languages.ts";
import type { Tried } from "../receivers/tried.ts";

const HELP = `Tries the emitters of examples/ with a RabbitMQ of their own, and writes what ran them into ${TRIED_EMITTERS}.

  pnpm emitters

Installs the languages that are missing. Then run pnpm run docs, which makes a table of it.`;

const programs: Programs = {
  language: findOrInstallLanguage,
  go: async () => (await findOrInstallGo()).executable,
  mono: findOrInstallMono,
};

await runCommand(HELP, async () => {
  const folder = mkdtempSync(join(tmpdir(), "herald-emitters-"));
  const pidFolder = join(folder, "pids");
  const data = join(folder, "rabbitmq");
  const broker = await startRabbitmq({ folder: data, pidFolder, management: true, disposable: true });
  try {
    const user = await makeEmitterUser(broker.url, broker.managementUrl);
    const tried: Tried[] = [];
    for (const language of EMITTERS) {
      if (!language.build) continue;
      await withEmitter(language, programs, async (built) => {
        await tryEmitter(built, { url: broker.url, emitterUrl: user.url });
        console.log(`${language.name}: ${built.tried.version}`);
        tried.push(built.tried);
      });
    }
    await user.remove();
    writeFileSync(join(projectFolder(), TRIED_EMITTERS), `${JSON.stringify(tried, null, 2)}\n`);
  } finally {
    await broker.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
