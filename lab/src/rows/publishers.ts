import type { FigureKind, Row } from "../row.ts";
import { startWaitingEvents } from "./waiting-events.ts";

const EVENTS_A_SECOND = 4_000;

const figures = {
  one: { label: "events fanned out by one publisher", unit: "/s" },
  two: { label: "  by two", unit: "/s" },
  publisherOne: { label: "CPU an event of the publisher", unit: "us" },
  publisherTwo: { label: "  of both", unit: "us" },
  publisherRatio: { label: "  the one to the other", unit: "x", bar: { atMost: 1.3 } },
  postgresOne: { label: "CPU an event of PostgreSQL, with one publisher", unit: "us" },
  postgresTwo: { label: "  with two", unit: "us" },
  postgresRatio: { label: "  the one to the other", unit: "x", bar: { atMost: 1.3 } },
  rabbitmqOne: { label: "CPU an event of RabbitMQ, with one publisher", unit: "us" },
  rabbitmqTwo: { label: "  with two", unit: "us" },
  lost: { label: "deliveries that are missing", unit: "", bar: { atMost: 0 } },
} as const satisfies Record<string, FigureKind>;

/**
 * Whether a second publisher makes an event cost more. All work on the same cores, so the rate can't double here; where
 * there are more cores, it grows as long as this cost stays.
 */
export const publishersRow: Row = {
  name: "publishers",
  title: "One publisher and two",
  figures,
  async open(environment, options) {
    const start = { name: "publishers", eventsASecond: EVENTS_A_SECOND, ...options };
    const { herald, publisher: first, conditions, fanOut, close } = await startWaitingEvents(environment, start);
    return {
      conditions,
      async round() {
        const one = await fanOut([first]);
        const second = await herald.start("publisher");
        // What a process does the first time costs more.
        const warmUp = await fanOut([first, second]);
        const two = await fanOut([first, second]);
        await second.stop();
        return {
          one: one.perSecond,
          two: two.perSecond,
          publisherOne: one.publisherCpu,
          publisherTwo: two.publisherCpu,
          publisherRatio: two.publisherCpu / one.publisherCpu,
          postgresOne: one.serverCpu.postgres,
          postgresTwo: two.serverCpu.postgres,
          postgresRatio: two.serverCpu.postgres / one.serverCpu.postgres,
          rabbitmqOne: one.serverCpu.rabbitmq,
          rabbitmqTwo: two.serverCpu.rabbitmq,
          lost: one.lost + warmUp.lost + two.lost,
        };
      },
      close,
    };
  },
};
