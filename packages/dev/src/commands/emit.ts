import { parseArgs } from "node:util";
import type { EventPayload, EventTypeInfo } from "@herald/contracts";
import { createEmitter } from "@herald/emitter";
import { type RunInfo, readRunFile } from "../start/local-files.ts";
import { changesOf, eventFrom, type Samples } from "./events.ts";
import { runCommand, UsageError } from "./run-command.ts";

const HELP = `Publishes a business event to the broker of the Herald that runs here, as a product service would, and waits until
the broker has confirmed it.

  pnpm emit <EventName> [options]

  --organization ID         whose event it is (the one of "pnpm start" by default)
  --entity-type T           what kind of entity it is about (by the event's name where absent)
  --entity-id UUID          which one (a new one where absent)
  --change Field=old:new    a changed field; more than once for more; an empty side is null

Without a name it says which events the Herald that runs here delivers. Others are not delivered.`;

await runCommand(HELP, async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      organization: { type: "string" },
      "entity-type": { type: "string" },
      "entity-id": { type: "string" },
      change: { type: "string", multiple: true },
    },
  });
  const [type, ...others] = positionals;
  if (others.length > 0) throw new UsageError(`Only one event name can be given, not ${positionals.join(" ")}.`);
  const run = readRunFile();
  const changes = changesOf(values.change ?? []);
  const given = {
    organizationId: values.organization ?? run.organizationId,
    ...(values["entity-type"] !== undefined && { entityType: values["entity-type"] }),
    ...(values["entity-id"] !== undefined && { entityId: values["entity-id"] }),
    ...(changes !== undefined && { data: { changes } }),
  };
  const samples = await readSamples(run);
  const names = [...samples.keys()];
  if (type === undefined) throw new UsageError(`Which event? One of ${names.join(", ")}.`);
  const event = eventFrom({ ...given, type }, samples);
  if (!names.includes(type))
    console.error(`Herald does not deliver "${type}": it will count and drop it. It knows ${names.join(", ")}.`);
  const { BROKER_NAMESPACE: namespace = "herald" } = run.settings;
  const emitter = createEmitter({ url: run.amqpUrl, namespace, connectionName: "herald-emit" });
  try {
    await emitter.emit(event);
  } finally {
    await emitter.close();
  }
  console.log(`${type} ${event.id} of ${event.organizationId} is with the broker.`);
});

/** The events that the Herald here knows. */
async function readSamples({ apiUrl, token }: RunInfo): Promise<Samples> {
  const response = await fetch(`${apiUrl}/api/organization/integration-operations/event-types`, {
    signal: AbortSignal.timeout(10_000),
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(`The management API answered ${response.status} when it was asked for its events.`);
  const catalogue = (await response.json()) as EventTypeInfo[];
  return new Map(catalogue.map(({ name, sample }) => [name, JSON.parse(sample) as EventPayload]));
}
