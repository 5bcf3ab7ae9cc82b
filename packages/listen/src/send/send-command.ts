import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { EVENT_TYPES, type EventType } from "@herald/receiver";
import { ArgumentError, printable, receiverOf, receiverOptions } from "../arguments.ts";
import { SAMPLES } from "../samples.ts";
import { ExchangeError, exchange, signedRequest } from "./exchange.ts";

const usage = `herald-listen send: sends a receiver a signed sample of an event, made here and without a Herald

  herald-listen send TYPE --url URL [--secret TEXT] [--data FILE] [--id UUID]
                     [--header-prefix X-Service] [--timeout 15]

  TYPE            ${EVENT_TYPES.slice(0, 4).join(", ")},
                  ${EVENT_TYPES.slice(4).join(", ")}
  --data          a file with the event's "data", a JSON object, in place of the sample's
  --id            the event's id; a new one where absent. Give one twice to send a duplicate
  WEBHOOK_SECRET   the secret that your receiver verifies with, as --secret

Ends with 0 where the receiver answered 2xx in time, as Herald wants it, and else with 1.`;

/** @returns the exit code */
export async function runSend(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...receiverOptions,
      data: { type: "string" },
      id: { type: "string" },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const { url, secret, headerPrefix, timeoutMs } = receiverOf(values);
  const eventType = eventTypeOf(positionals);
  const now = new Date();
  const deliveryId = randomUUID();
  const event = {
    ...SAMPLES[eventType],
    id: values.id ?? randomUUID(),
    occurredAtUtc: now.toISOString(),
    ...(values.data !== undefined && { data: dataOf(values.data) }),
  };
  const body = Buffer.from(JSON.stringify(event));
  const outgoing = signedRequest({ body, eventType, deliveryId, secret, now, headerPrefix });
  console.log(
    `POST ${url.href} ${eventType}\n  delivery ${deliveryId}  event ${event.id}\n  ${printable(body.toString())}`,
  );
  try {
    const { status, body: said, durationMs } = await exchange(url, outgoing, timeoutMs);
    const succeeded = status >= 200 && status < 300;
    console.log(
      `-> ${status} in ${durationMs} ms${succeeded ? "" : ": Herald takes any 2xx for success, and nothing else"}`,
    );
    if (said.byteLength > 0) console.log(`  ${printable(Buffer.from(said.subarray(0, 1024)).toString())}`);
    return succeeded ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    console.error(`-> ${error.message}`);
    return 1;
  }
}

function eventTypeOf([type, ...more]: string[]): EventType {
  const known = EVENT_TYPES.find((each) => each === type);
  if (known === undefined || more.length > 0) {
    throw new ArgumentError(`name one event: ${EVENT_TYPES.join(", ")}`);
  }
  return known;
}

function dataOf(file: string): Record<string, unknown> {
  const data: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new ArgumentError(`--data: ${file} must hold a JSON object, the "data" of the event`);
  }
  return data as Record<string, unknown>;
}
