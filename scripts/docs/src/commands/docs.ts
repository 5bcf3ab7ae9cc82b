import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runCommand } from "@herald/dev/commands/run-command";
import { projectFolder } from "@herald/dev/stack/folders";
import { COMMAND, documents, packedFiles } from "../documents.ts";

const HELP = `Writes every document that is made of the code.

  ${COMMAND}

With --packed it writes what no one but a package has, as the package is packed: the events' JSON Schemas.

A test compares each document with the code.`;

await runCommand(HELP, async () => {
  const files = process.argv.includes("--packed") ? packedFiles() : documents();
  for (const [file, text] of Object.entries(files)) {
    const path = join(projectFolder(), file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(file);
  }
});
