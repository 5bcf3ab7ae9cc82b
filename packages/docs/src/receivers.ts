import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LANGUAGES } from "@herald/e2e/receivers/languages";
import { TRIED_RECEIVERS, type TriedReceiver } from "@herald/e2e/receivers/tried";
import { projectFolder } from "@herald/testkit/stack/folders";
import { table } from "./table.ts";

function read(file: string): string {
  return readFileSync(join(projectFolder(), file), "utf8");
}

/** The generated blocks of docs/receiving-webhooks.md, by name. */
export function receiverBlocks(): Record<string, string> {
  const receivers = LANGUAGES.map(
    ({ name, file, fence }) => `### ${name}\n\n[${file}](../${file})\n\n\`\`\`${fence}\n${read(file).trim()}\n\`\`\``,
  );
  return { receivers: receivers.join("\n\n"), "tried receivers": triedReceivers() };
}

function triedReceivers(): string {
  const tried = JSON.parse(read(TRIED_RECEIVERS)) as TriedReceiver[];
  return table(
    ["receiver", "ran on", "checks passed"],
    tried.map(({ language, version, checks }) => [language, version, String(checks)]),
  );
}

/** The module with which the admin page shows the same programs. */
export function receiverExamples(): string {
  const entries = LANGUAGES.map(({ name, file }) => {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `  ${key}: \`${templateText(read(file))}\`,`;
  });
  return `// Made by \`pnpm run docs\` of the receivers in examples/. Change those.

export const RECEIVER_EXAMPLES = {
${entries.join("\n")}
};
`;
}

/** A text as it stands between backticks. */
function templateText(text: string): string {
  return text.replace(/\\|`|\$\{/g, (found) => `\\${found}`);
}
