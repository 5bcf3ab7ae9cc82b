import { parseArgs } from "node:util";
import type { EventPayload, EventTypeInfo } from "@herald/contracts";
import { createEmitter, type EmittedEvent, type Emitter } from "@herald/emitter";
import { localFolder } from "../stack/folders.ts";
import { brokerNamespace, type RunInfo, readRunFile } from "../start/local-files.ts";
import { changesOf, eventFrom, eventsOfFile, type Samples } from "./events.ts";
import { runCommand, UsageError } from "./run-command.ts";

const AT_ONCE = 400;

const HELP = `Publishes business events to the broker of the Herald that runs here, as a product service would, and waits until
the broker has confirmed them.

  pnpm emit <EventName> [options]
  pnpm emit [EventName] --file events.ndjson

  --organization ID         whose event it is (the one of "pnpm start" by default)
  --entity-type T           what kind of entity it is about (by the event's name where absent)
  --entity-id UUID          which one (a new one where absent)
  --change Field=old:new    a changed field; more than once for more; an empty side is null
  --file FILE               one event a line as JSON, "-" for standard input; what a line does not say is filled in as above

Without a name it says which events the Herald that runs here delivers. Others are not delivered.`;

await runCommand(HELP, async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      organization: { type: "string" },
      "entity-type": { type: "string" },
      "entity-id": { type: "string" },
      change: { type: "string", multiple: true },
      file: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (positionals.length > 1) throw new UsageError(`Only one event name can be given, not ${positionals.join(" ")}.`);
  const local = localFolder();
  const run = readRunFile(local);
  const changes = changesOf(values.change ?? []);
  const defaults = {
    ...(positionals[0] !== undefined && { type: positionals[0] }),
    organizationId: values.organization ?? run.organizationId,
    ...(values["entity-type"] !== undefined && { entityType: values["entity-type"] }),
    ...(values["entity-id"] !== undefined && { entityId: values["entity-id"] }),
    ...(changes !== undefined && { data: { changes } }),
  };
  const samples = await readSamples(run);
  const names = [...samples.keys()];
  if (values.file === undefined && defaults.type === undefined) {
    throw new UsageError(`Which event? One of ${names.join(", ")}.`);
  }
  const events =
    values.file === undefined ? [eventFrom({}, defaults, samples)] : await eventsOfFile(values.file, defaults, samples);
  warnOfUnknown(events, names);
  await emitAll(events, run.amqpUrl, brokerNamespace(local));
});

async function emitAll(events: EmittedEvent[], url: string, namespace: string): Promise<void> {
  const emitter = createEmitter({ url, namespace, connectionName: "herald-emit" });
  const begun = Date.now();
  try {
    const failures = await emitEach(emitter, events);
    const confirmed = events.length - failures.length;
    if (events.length === 1 && confirmed === 1) {
      const [event] = events;
      console.log(`${event?.type} ${event?.id} of ${event?.organizationId} is with the broker.`);
    } else {
      console.log(`${confirmed} of ${events.length} events are with the broker, in ${Date.now() - begun} ms.`);
    }
    if (failures.length > 0) {
      const shown = failures.slice(0, 10).join("\n");
      throw new Error(`${failures.length} were not sent:\n${shown}${failures.length > 10 ? "\n..." : ""}`);
    }
  } finally {
    await emitter.close();
  }
}

/** Not all at once: an event's time to be confirmed begins with its call. */
async function emitEach(emitter: Emitter, events: EmittedEvent[]): Promise<string[]> {
  const failures: string[] = [];
  const queue = events.values();
  const emitNext = async () => {
    for (const event of queue) {
      await emitter.emit(event).catch((error: Error) => failures.push(`${event.type} ${event.id}: ${error.message}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, emitNext));
  return failures;
}

/** The events that the Herald here knows. */
async function readSamples({ apiUrl, token }: RunInfo): Promise<Samples> {
  const response = await fetch(`${apiUrl}/api/organization/integration-operations/event-types`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(`The management API answered ${response.status} when it was asked for its events.`);
  const catalogue = (await response.json()) as EventTypeInfo[];
  return new Map(catalogue.map(({ name, sample }) => [name, JSON.parse(sample) as EventPayload]));
}

function warnOfUnknown(events: EmittedEvent[], names: readonly string[]): void {
  const unknown = new Set(events.map((event) => event.type).filter((type) => !names.includes(type)));
  for (const type of unknown) {
    console.error(`Herald does not deliver "${type}": it will count it and drop it. It knows ${names.join(", ")}.`);
  }
}
