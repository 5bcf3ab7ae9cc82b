import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { sharedSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { isUtcTime, type Judgement, judgeEvent } from "@herald/contracts";
import { type Command, type CommandContext, UsageError } from "../command.ts";
import { printable } from "../output.ts";
import { readEvents } from "./read-events.ts";

const DAY_MS = 86_400_000;
const { PUBLICATION_WINDOW_DAYS } = sharedSettings;

export const eventsCommand: Command = {
  summary: "says what Herald would make of events",
  help: `herald events: says what Herald would make of events

  herald events check FILE [--at TIME]

  --at     judges as if it were this time, such as 2026-01-31T12:00:00Z; now where absent. For files whose events have fixed times

FILE has one event a line, or a JSON array of them. Each is judged as a publisher judges it; nothing is sent, and neither RabbitMQ nor
PostgreSQL is needed. It prints a line for each event that would not be delivered:

  rejected   it breaks the contract, with the reason
  ignored    it is of a type that Herald does not deliver
  stale      it is older than PUBLICATION_WINDOW_DAYS

Exit code: 0 where none is rejected, 1 otherwise.
`,
  async run([action, ...rest], context) {
    if (action !== "check") throw new UsageError("It takes check.");
    check(rest, context);
  },
};

/** @throws Error where an event is rejected, or the file can't be read */
function check(args: string[], { environment, stdout, stderr }: CommandContext): void {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { at: { type: "string" } } });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError("It takes one file.");
  const options = {
    now: timeOf(values.at),
    windowMs: readConfig({ PUBLICATION_WINDOW_DAYS }, environment).PUBLICATION_WINDOW_DAYS * DAY_MS,
  };
  let count = 0;
  let rejected = 0;
  for (const { place, content } of readEvents(read(file))) {
    const judgement = judgeEvent(content, options);
    count++;
    if (judgement.kind === "rejected") rejected++;
    if (judgement.kind !== "event") stdout(`${place}: ${printable(inWords(judgement).replaceAll(/\s+/g, " "))}\n`);
  }
  if (rejected > 0) throw new Error(`${rejected} of ${count} events break the contract.`);
  stderr(`${count} events, none of which breaks the contract.\n`);
}

function inWords(judgement: Exclude<Judgement, { kind: "event" }>): string {
  switch (judgement.kind) {
    case "rejected":
      return `rejected: ${judgement.reason}`;
    case "ignored":
      return `ignored: Herald does not deliver ${judgement.type}`;
    case "stale":
      return "stale: it is older than events are delivered";
  }
}

function timeOf(text: string | undefined): Date {
  if (text === undefined) return new Date();
  if (!isUtcTime(text)) throw new UsageError(`--at takes a time such as 2026-01-31T12:00:00Z, not "${text}".`);
  return new Date(text);
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Error(`${file} can't be read: ${(error as Error).message}`, { cause: error });
  }
}
