import { isEventType } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { INBOX_TIME, useInbox, WINDOW_MS } from "../hostile/use-inbox.ts";
import { mutants } from "./mutants.ts";

const MESSAGES = Number(process.env.FUZZ_MESSAGES ?? 10_000);
/** Always the same, so that a failure can be repeated. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_120);

/** All messages take some ten seconds on a quiet machine. */
const BUSY_MACHINE_MS = 600_000;

const inbox = useInbox();

test(
  `each of ${MESSAGES} mutated messages is stored, ignored, too old or set aside with a reason, and the next valid one is stored`,
  async () => {
    const sample = fc.sample(mutants, { seed: SEED, numRuns: MESSAGES });
    const confirms = sample.map(({ content, headers }, number) =>
      inbox.publish(content, { headers: { ...headers, number: String(number) } }),
    );
    await Promise.all(confirms);
    await eventually(
      async () => {
        const counts = await Promise.all([
          inbox.counted("received"),
          inbox.counted("stale"),
          inbox.counted("ignored"),
          inbox.counted("rejected"),
        ]);
        expect(counts.reduce((sum, count) => sum + count)).toBe(MESSAGES);
      },
      { timeoutMs: BUSY_MACHINE_MS, intervalMs: 250 },
    );
    await inbox.storeValid();

    const rejected = new Map<number, string>();
    for (const { content, properties } of await inbox.takeRejected(await inbox.counted("rejected"))) {
      const number = Number(properties.headers?.number);
      expect(rejected.has(number)).toBe(false);
      // toEqual goes byte by byte: thousands of these stop the process for so long that RabbitMQ takes its connection for dead.
      expect(sample[number]?.content.equals(content)).toBe(true);
      rejected.set(number, properties.headers?.["x-herald-reason"]);
    }
    expect([...rejected.values()].filter((reason) => typeof reason !== "string" || reason.length < 10)).toEqual([]);

    const kept = sample.filter((_, number) => !rejected.has(number)).map(({ content }) => parse(content));
    const ignored = kept.filter(({ type }) => !isEventType(type));
    const delivered = kept.filter(({ type }) => isEventType(type));
    const stale = delivered.filter(isStale);
    const stored = new Set(delivered.filter((event) => !isStale(event)).map(keyOf));
    const rows = await inbox.prisma.businessEvent.findMany({
      select: { organizationId: true, id: true, occurredAt: true, body: true },
    });
    // And the valid one from above.
    expect(rows).toHaveLength(stored.size + 1);
    const rowKeys = new Set(rows.map((row) => keyOf({ ...row, occurredAtUtc: row.occurredAt.toISOString() })));
    expect([...stored].filter((key) => !rowKeys.has(key))).toEqual([]);
    for (const { body } of rows) expect(Object.keys(JSON.parse(body))).toEqual(FIELDS_SENT);

    expect(await inbox.counted("rejected")).toBe(rejected.size);
    expect(await inbox.counted("ignored")).toBe(ignored.length);
    expect(await inbox.counted("stale")).toBe(stale.length);
    expect(await inbox.counted("received")).toBe(MESSAGES - rejected.size - ignored.length - stale.length + 1);
    // A test of mutants that are all refused, or all harmless, would show nothing.
    for (const count of [rejected.size, ignored.length, stored.size]) expect(count).toBeGreaterThan(MESSAGES / 200);
    expect(stale).not.toEqual([]);
    for (const queue of inbox.names.eventQueues) {
      expect((await inbox.channel.checkQueue(queue)).messageCount).toBe(0);
    }
    expect(({} as Record<string, unknown>).type).toBeUndefined();
  },
  2 * BUSY_MACHINE_MS,
);

const FIELDS_SENT = ["id", "type", "occurredAtUtc", "entityType", "entityId", "data"];

type Kept = { organizationId: string; id: string; occurredAtUtc: string; type?: unknown };
const keyOf = ({ organizationId, id, occurredAtUtc }: Kept) =>
  `${organizationId} ${id.toLowerCase()} ${Date.parse(occurredAtUtc)}`;
const isStale = ({ occurredAtUtc }: Kept) => Date.parse(occurredAtUtc) < INBOX_TIME.getTime() - WINDOW_MS;

/** Strict: a message that can't be read must not be among those that were kept. */
function parse(content: Buffer): Kept {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
}
