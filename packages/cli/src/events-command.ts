import { readFileSync } from "node:fs";
import { sharedSettings } from "@herald/common/config/common-settings";
import { catalogueRules, eventTypeSettings, readCatalogue } from "@herald/common/config/event-types";
import { readConfig } from "@herald/common/config/read-config";
import { type Judgement, judgeEvent } from "@herald/contracts";
import { action, type Command, onlyWord, timeOf } from "./command.ts";

const DAY_MS = 86_400_000;
const { PUBLICATION_WINDOW_DAYS } = sharedSettings;

const check = action({
  changes: false,
  usage: "FILE [--at TIME]",
  options: { at: { type: "string" } },
  words: true,
  run({ at }, { environment, stdout, stderr }, words) {
    const file = onlyWord(words, "one file");
    const config = readConfig({ PUBLICATION_WINDOW_DAYS, ...eventTypeSettings }, environment);
    const options = {
      now: at === undefined ? new Date() : timeOf("--at", at),
      windowMs: config.PUBLICATION_WINDOW_DAYS * DAY_MS,
      eventTypes: catalogueRules(readCatalogue(config)),
    };
    let count = 0;
    let rejected = 0;
    for (const { place, content } of readEvents(read(file))) {
      const judgement = judgeEvent(content, options);
      count++;
      if (judgement.kind === "event") continue;
      if (judgement.kind === "rejected") rejected++;
      stdout(`${place}: ${inWords(judgement).replaceAll(/\s+/g, " ")}\n`);
    }
    if (rejected > 0) throw new Error(`${rejected} of ${count} events break the contract.`);
    stderr(`${count} events, and none breaks the contract.\n`);
  },
});

export const eventsCommand: Command = {
  summary: "says what Herald would make of events",
  actions: { check },
  help: `  --at   judges as if it were this time, such as 2026-01-31T12:00:00Z; now where absent. For files whose events have fixed times

FILE has one event a line, or a JSON array of them. Each is judged as a publisher judges it; nothing is sent, and neither RabbitMQ nor
PostgreSQL is needed. It prints a line for each event that would not be delivered:

  rejected   it breaks the contract, with the reason
  ignored    it is of a type that Herald does not deliver
  stale      it is older than PUBLICATION_WINDOW_DAYS

Exit code: 0 where none is rejected, 1 otherwise.
`,
};

function inWords(judgement: Exclude<Judgement, { kind: "event" }>): string {
  if (judgement.kind === "rejected") return `rejected: ${judgement.reason}`;
  if (judgement.kind === "ignored") return `ignored: Herald does not deliver ${judgement.type}`;
  return "stale: it is older than events are delivered";
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Error(`${file} can't be read: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * The events of a file, with their places in words: a JSON array, or one event a line (NDJSON). Empty lines are passed over. Of lines
 * the bytes are those of the file; the elements of an array are written again, without the spaces between their parts.
 *
 * @throws Error where the file begins as an array and is none
 */
export function readEvents(file: Buffer): { place: string; content: Uint8Array }[] {
  const text = file.toString("utf8").replace(/^\ufeff/, "");
  if (/^\s*\[/.test(text)) {
    return parseArray(text).map((event, index) => ({
      place: `event ${index + 1}`,
      content: Buffer.from(JSON.stringify(event)),
    }));
  }
  // Latin-1 has a character for each byte.
  const lines = file.toString("latin1").split("\n");
  return lines.flatMap((line, index) => {
    const isEmpty = /^(\u00ef\u00bb\u00bf)?[ \t\r]*$/.test(line);
    return isEmpty ? [] : [{ place: `line ${index + 1}`, content: Buffer.from(line, "latin1") }];
  });
}

function parseArray(text: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[];
  } catch (error) {
    throw new Error("It begins with [ and is no JSON array. Events one a line begin with {.", { cause: error });
  }
}
