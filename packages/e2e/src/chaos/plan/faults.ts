import { drawBetween, drawOne, drawWeighted, shuffled } from "./draw.ts";

/** The kinds of faults that a chaos run injects into a running Herald. */
export type FaultKind = ShortFault | "long-transaction";

export interface PlannedFault {
  /** After the start of the run. */
  atMs: number;
  kind: FaultKind;
  /** A service (`dispatcher-1`), a link (`dispatcher-1>postgres`), a receiver by its number, a table, or the server itself. */
  target: string;
  durationMs: number;
  /** By how much a clock is ahead. */
  aheadMs?: number;
}

export const SERVICES = [
  "management-api-1",
  "management-api-2",
  "publisher-1",
  "publisher-2",
  "dispatcher-1",
  "dispatcher-2",
] as const;
export type ServiceLabel = (typeof SERVICES)[number];

/** From who connects to what it connects to. */
export const LINKS: readonly string[] = [
  ...SERVICES.flatMap((service) => [`${service}>postgres`, `${service}>rabbitmq`]),
  "emitter>rabbitmq",
];

/** More than receivers tolerate (SPEC 4.4.3); a day; and a month back, when no receiver's certificate was valid yet. */
const CLOCKS_AHEAD_MS = [400_000, -400_000, 86_400_000, -30 * 86_400_000] as const;

/** Where a fault can hurt more, it falls more often. */
const SERVICE_WEIGHTS: Readonly<Record<ServiceLabel, number>> = {
  "management-api-1": 1,
  "management-api-2": 1,
  "publisher-1": 2,
  "publisher-2": 2,
  "dispatcher-1": 3,
  "dispatcher-2": 3,
};

type Target = (seed: number, index: number, before: readonly { kind: string }[]) => string;
const aService: Target = (seed, index) => drawWeighted(SERVICE_WEIGHTS, seed, "target", index);
const aDispatcher: Target = (seed, index) => drawOne(["dispatcher-1", "dispatcher-2"], seed, "target", index);
const aLink: Target = (seed, index) => drawOne(LINKS, seed, "target", index);
const aBrokerLink: Target = (seed, index) =>
  drawOne(
    LINKS.filter((link) => link.endsWith(">rabbitmq")),
    seed,
    "target",
    index,
  );
const aTable: Target = (seed, index) => drawOne(["delivery", "due", "business_event"], seed, "target", index);
const rowsOfATable: Target = (seed, index) =>
  drawWeighted({ webhook_endpoint: 1, delivery: 3, due: 2, business_event: 1 }, seed, "target", index);
/** By turns: two restarts of one receiver soon after each other are an outage that it may be disabled for. */
const nextReceiver: Target = (_seed, _index, before) =>
  String(before.filter(({ kind }) => kind === "receiver-restarts").length);

interface ShortFaultKind {
  /** How many of them a deal has. */
  times: number;
  durationMs: readonly [low: number, high: number];
  target: string | Target;
}

/** One deal of these lasts about forty seconds, so a run of a minute sees every kind, most of them several times. */
const DECK = {
  /** `kill -9` of a service, and a new one after the pause. */
  kill: { times: 5, durationMs: [100, 2_000], target: aService },
  /** A service that is killed again and again, each time soon after its start. */
  "crash-loop": { times: 1, durationMs: [5_000, 12_000], target: aDispatcher },
  /** SIGTERM, as in a deployment, and a new one after it ended. */
  terminate: { times: 1, durationMs: [0, 500], target: aService },
  /**
   * A service stands still (SIGSTOP) for the pause, as on a machine that swaps or is being moved: up to more than three times as long as an
   * owner lives without a heartbeat.
   */
  freeze: { times: 3, durationMs: [1_000, 20_000], target: aService },
  /** A service's connections to PostgreSQL or RabbitMQ break; both sides notice. What waits in a dispatcher's own queue is lost with its connection. */
  cut: { times: 3, durationMs: [0, 0], target: aLink },
  /** Nothing passes in either direction for the pause, then everything does. */
  stall: { times: 3, durationMs: [500, 12_000], target: aLink },
  /** RabbitMQ answers on no channel of a service for the pause, and its connections go on; in the middle they break, and are made again. */
  hang: { times: 2, durationMs: [4_000, 20_000], target: aBrokerLink },
  /** The server's side is gone, and the service does not learn it: its bytes are dropped. The service may take the pause to notice. */
  "silent-server": { times: 2, durationMs: [8_000, 8_000], target: aLink },
  /** The service's side is gone, and the server does not learn it. */
  "silent-client": { times: 1, durationMs: [8_000, 8_000], target: aLink },
  /** The clock of a service's machine is wrong for the pause, and then right again: long enough for attempts that fail, and their retries. */
  clock: { times: 3, durationMs: [5_000, 15_000], target: aService },
  /** `kill -9` of RabbitMQ, and a new start on its data after the pause. */
  "rabbitmq-killed": { times: 1, durationMs: [0, 1_500], target: "rabbitmq" },
  /** PostgreSQL ends at once (`immediate`), and recovers from its log after the pause. */
  "postgres-crashed": { times: 2, durationMs: [0, 1_500], target: "postgres" },
  /** Another program holds some rows of a table for the pause: of work under way. */
  "row-lock": { times: 3, durationMs: [2_000, 12_000], target: rowsOfATable },
  /** Another program holds a whole table for the pause: also for longer than a statement may take. */
  "table-lock": { times: 1, durationMs: [1_000, 8_000], target: aTable },
  /** RabbitMQ is out of memory, and takes no messages for the pause. */
  "memory-alarm": { times: 1, durationMs: [1_500, 5_000], target: "rabbitmq" },
  /** The name server is gone for the pause, longer than a dispatcher keeps its answers, and no connection to a receiver is kept. */
  "resolver-dead": { times: 1, durationMs: [7_000, 14_000], target: "network" },
  /** No receiver can be reached for the pause: connections are refused, and names that are looked up again have no route. */
  "no-route": { times: 1, durationMs: [3_000, 10_000], target: "network" },
  /** One receiver refuses connections for the pause, as it does while it restarts. */
  "receiver-restarts": { times: 2, durationMs: [2_000, 10_000], target: nextReceiver },
  /** Receivers get certificates of a new authority, which the file of a setting holds since a moment before. */
  "new-authority": { times: 1, durationMs: [2_000, 5_000], target: "receivers" },
  /** A dozen endpoints of one organization answer slowly for the pause. */
  "slow-crowd": { times: 1, durationMs: [5_000, 10_000], target: "receivers" },
  /** One organization emits thousands of events at once. */
  flood: { times: 2, durationMs: [0, 0], target: "emitter" },
  /** One organization emits events of nearly the largest size, many at once. */
  "large-bodies": { times: 1, durationMs: [0, 0], target: "emitter" },
  /**
   * All dispatchers stand still at once, for longer than an attempt may take: no other one takes over what they had in flight. Also for a
   * shorter time than an owner lives without a heartbeat: then all results still count.
   */
  frozen: { times: 3, durationMs: [3_000, 9_000], target: "dispatchers" },
} satisfies Record<string, ShortFaultKind>;
type ShortFault = keyof typeof DECK;
const CARDS = (Object.keys(DECK) as ShortFault[]).flatMap((kind) => Array<ShortFault>(DECK[kind].times).fill(kind));
const INTERVAL_MS = 1_200;
/** The load runs alone for so long at first, and the last faults fall before its end. */
const LEAD_IN_MS = 1_000;

/** The faults of a run, in their order. Pure: the same for the same seed and length. */
export function planFaults(seed: number, seconds: number): PlannedFault[] {
  const restMs = Math.max(0, seconds * 1_000 - LEAD_IN_MS);
  const faults: PlannedFault[] = [
    // Another program keeps a transaction open for the whole run, as a dump or a report does: nothing is vacuumed.
    { atMs: LEAD_IN_MS, kind: "long-transaction", target: "postgres", durationMs: restMs },
  ];
  let atMs = LEAD_IN_MS;
  for (let index = 0; ; index++) {
    const deal = Math.floor(index / CARDS.length);
    const kind = shuffled(CARDS, seed, "deal", deal)[index % CARDS.length] as ShortFault;
    atMs += drawBetween(0.4, 1.6, seed, "pause", index) * INTERVAL_MS;
    if (atMs >= seconds * 1_000) return faults;
    const { durationMs, target }: ShortFaultKind = DECK[kind];
    const clock = kind === "clock" ? { aheadMs: drawOne(CLOCKS_AHEAD_MS, seed, "clock", index) } : {};
    faults.push({
      atMs: Math.round(atMs),
      kind,
      target: typeof target === "string" ? target : target(seed, index, faults),
      durationMs: Math.round(drawBetween(...durationMs, seed, "duration", index)),
      ...clock,
    });
  }
}
