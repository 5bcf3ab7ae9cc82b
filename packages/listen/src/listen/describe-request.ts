import { oneLine } from "../arguments.ts";
import type { ReceivedRequest } from "./received-request.ts";

export interface DescribeOptions {
  /** The answer to the sender, such as "204" or "500 after 2 s". */
  answer: string;
  /** The whole answer, if a program gave it: its body is shown if it is no success. */
  answered?: { status: number; body: Uint8Array };
  headerPrefix?: string;
  colour?: boolean;
}

const SHOWN_BODY_CHARACTERS = 600;

export function describeRequest(request: ReceivedRequest, options: DescribeOptions): string {
  const { answer, answered, headerPrefix = "X-Service", colour = false } = options;
  const { verdict } = request;
  const header = (suffix: string) => {
    const wanted = `${headerPrefix}-${suffix}`.toLowerCase();
    const values = request.headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
    return values.length > 0 ? oneLine(values.join(", ")) : null;
  };
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);

  const outcome = verdict.ok
    ? `${paint(32, "verified")}, signed ${age(verdict.timestamp, request.receivedAt)}`
    : paint(31, `NOT VERIFIED (${verdict.reason})`);
  const name = (verdict.ok ? verdict.event && oneLine(verdict.event) : null) ?? header("Event") ?? "no event header";
  const lines = [
    `${paint(2, request.receivedAt.toISOString().slice(11, 23))} ${request.method} ${oneLine(request.path)}  ` +
      `${paint(1, name)}  ${outcome}  -> ${oneLine(answer)}`,
  ];
  const deliveryId = header("Delivery-Id");
  const eventId = verdict.ok ? verdict.eventId : null;
  const ids = [deliveryId && `delivery ${deliveryId}`, eventId && `event ${eventId}`].filter(Boolean);
  if (ids.length > 0) lines.push(`  ${ids.join("  ")}`);
  if (!verdict.ok) lines.push(`  ${verdict.message}`);
  if (request.body.byteLength > 0) lines.push(`  ${bodyText(request.body)}`);
  if (answered && answered.status >= 300 && answered.body.byteLength > 0) {
    lines.push(`  ${paint(2, "answered:")} ${bodyText(answered.body)}`);
  }
  return lines.join("\n");
}

function age(timestamp: number, receivedAt: Date): string {
  const seconds = Math.floor(receivedAt.getTime() / 1000) - timestamp;
  return seconds < 0 ? `${-seconds} s in the future` : `${seconds} s ago`;
}

function bodyText(body: Uint8Array): string {
  // Four bytes at most make one character.
  const text = oneLine(new TextDecoder().decode(body.subarray(0, SHOWN_BODY_CHARACTERS * 4)));
  const shown = text.slice(0, SHOWN_BODY_CHARACTERS);
  return shown.length === text.length && body.byteLength <= SHOWN_BODY_CHARACTERS * 4
    ? shown
    : `${shown}... (${body.byteLength} bytes)`;
}
