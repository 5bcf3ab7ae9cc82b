import { writeFileSync } from "node:fs";
import { runCommand } from "@herald/testkit/commands/run-command";
import { projectFolder } from "@herald/testkit/stack/folders";
import { awaited, specCoverage } from "../spec-coverage/spec-coverage.ts";

const HELP = `Writes docs/spec-coverage.md: which tests show which rule of SPEC, by the titles of the tests.

  pnpm spec-coverage

It fails where a rule has no test, and where a title names a rule that does not exist.`;

await runCommand(HELP, async () => {
  const { coverage, document, file } = specCoverage(projectFolder());
  writeFileSync(file, document);
  if (awaited.length > 0) console.log(`Rules whose tests are still to come: ${awaited.join(", ")}.`);
  if (coverage.faults.length > 0) throw new Error(coverage.faults.join("\n"));
});
