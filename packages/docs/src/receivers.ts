import { FRAMEWORKS } from "@herald/e2e/receivers/frameworks";
import { LANGUAGES } from "@herald/e2e/receivers/languages";
import { STANDARD_WEBHOOKS } from "@herald/e2e/receivers/standard-webhooks";
import { type AllTried, TRIED_RECEIVERS, type Tried } from "@herald/e2e/receivers/tried";
import { table } from "./blocks.ts";
import { programText, readFile, triedOn } from "./programs.ts";

/** The generated blocks of docs/receiving-webhooks.md, by name. */
export function receiverBlocks(): Record<string, string> {
  const tried = JSON.parse(readFile(TRIED_RECEIVERS)) as AllTried;
  return {
    "tried receivers": table(["receiver", "ran on"], rows(LANGUAGES, tried.receivers)),
    receivers: LANGUAGES.map(({ name, folder, file, fence }) => program(name, `${folder}/${file}`, fence)).join("\n\n"),
    "tried frameworks": table(["framework", "ran on"], rows(FRAMEWORKS, tried.frameworks)),
    frameworks: FRAMEWORKS.map(({ name, file }) => program(name, `receive-node/${file}`, "js")).join("\n\n"),
    "tried libraries": table(["library for", "ran on"], rows(STANDARD_WEBHOOKS, tried.standardWebhooks)),
    libraries: STANDARD_WEBHOOKS.map(({ name, folder, file, fence }) =>
      program(`Standard Webhooks in ${name}`, `standard-webhooks/${folder}/${file}`, fence),
    ).join("\n\n"),
  };
}

function rows(all: readonly { name: string }[], tried: readonly Tried[]): string[][] {
  return all.map((each) => [each.name, triedOn(each, tried)]);
}

function program(title: string, file: string, fence: string): string {
  return `### ${title}\n\n${programText(file, fence)}`;
}

/** The module with which the admin page shows the same programs. */
export function receiverExamples(): string {
  const entries = LANGUAGES.map(({ name, folder, file }) => {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `  ${key}: \`${templateText(readFile(`examples/${folder}/${file}`))}\`,`;
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

/** The verifier of the receiver in Python, without its server: a module of examples/django. */
export function verifierModule(receiver: string): string {
  const [, verifier] = /^(TOLERANCE_SECONDS[\s\S]*?\n)\n\ndef store/m.exec(receiver) ?? [];
  if (verifier === undefined)
    throw new Error("The receiver in Python has no verifier between its constants and store.");
  return `# Made by \`pnpm run docs\` of examples/verify-python. Change that.
import hashlib
import hmac
import re
import time

${verifier}`;
}
