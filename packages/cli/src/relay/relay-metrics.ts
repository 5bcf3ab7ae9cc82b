import { atMostEach } from "@herald/common/runtime/repeat";
import { Counter, Gauge, type Registry } from "@herald/common/telemetry/metrics";
import { COUNTED_AT_MOST, type OutboxLag } from "@herald/emitter/outbox";

/** Scrapes within this time share a reading. */
const READING_LIFE_MS = 1_000;

/**
 * What a relay counts, and what its outbox holds, which is read at each scrape. A figure that can't be read is not exported.
 *
 * @param readLag reads the outbox
 */
export function relayMetrics(registry: Registry, readLag: () => Promise<OutboxLag>) {
  const registers = [registry];
  const latest = atMostEach(READING_LIFE_MS, () => readLag().catch(() => undefined));

  function figure(name: string, help: string, figureOf: (lag: OutboxLag) => number): void {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const lag = await latest();
        this.remove();
        if (lag) this.set(figureOf(lag));
      },
    });
  }

  figure(
    "herald_outbox_waiting",
    `Events that wait in the outbox; counted to ${COUNTED_AT_MOST}. Each of its relays exports the same.`,
    ({ waiting }) => waiting,
  );
  figure(
    "herald_outbox_oldest_age_seconds",
    "How long ago the event was added that waits longest in the outbox; 0 where none waits. Each of its relays exports the same.",
    ({ oldestSeconds }) => oldestSeconds ?? 0,
  );
  figure(
    "herald_outbox_refused",
    `Rows of the outbox that can't be sent, with the reason in their column refused; counted to ${COUNTED_AT_MOST}. Each of its relays exports the same.`,
    ({ refused }) => refused,
  );
  return {
    sent: new Counter({
      name: "herald_relay_sent_total",
      help: "Events of the outbox that the relay has sent, and the broker confirmed.",
      registers,
    }),
    refused: new Counter({
      name: "herald_relay_refused_total",
      help: "Rows of the outbox that the relay has set aside, since they can't be sent.",
      registers,
    }),
    failures: new Counter({
      name: "herald_relay_failures_total",
      help: "Failures of the outbox's database or of the broker; the relay tries again each time.",
      registers,
    }),
  };
}
