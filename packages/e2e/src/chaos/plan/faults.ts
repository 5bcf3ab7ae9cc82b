import { drawBetween, drawOne, drawWeighted, shuffled } from "./draw.ts";

/** The kinds of faults that a chaos run injects into a running Herald. */
export type FaultKind =
  /** `kill -9` of a service, and a new one after the pause. */
  | "kill"
  /** A service that is killed again and again, each time soon after its start. */
  | "crash-loop"
  /** SIGTERM, as in a deployment, and a new one after it ended. */
  | "terminate"
  /** A service stands still (SIGSTOP) for the pause, as on a machine that swaps or is being moved. */
  | "freeze"
  /** All dispatchers stand still at once, for longer than an attempt may take: no other one takes over what they had in flight. */
  | "frozen"
  /** A service's connections to PostgreSQL or RabbitMQ break; both sides notice. What waits in a dispatcher's own queue is lost with its connection. */
  | "cut"
  /** Nothing passes in either direction for the pause, then everything does. */
  | "stall"
  /** The server's side is gone, and the service does not learn it: its bytes are dropped. */
  | "silent-server"
  /** The service's side is gone, and the server does not learn it. */
  | "silent-client"
  /** The clock of a service's machine is wrong for the pause, and then right again. */
  | "clock"
  /** `kill -9` of RabbitMQ, and a new start on its data after the pause. */
  | "rabbitmq-killed"
  /** PostgreSQL ends at once (`immediate`), and recovers from its log after the pause. */
  | "postgres-crashed"
  /** RabbitMQ is out of memory, and takes no messages for the pause. */
  | "memory-alarm"
  /** Another program holds the row of one endpoint for the pause. */
  | "row-lock"
  /** Another program keeps a transaction open for the pause, as a dump or a report does: nothing is vacuumed meanwhile. */
  | "long-transaction"
  /** The name server is gone for the pause, and no connection to a receiver is kept. */
  | "resolver-dead"
  /** No receiver can be reached for the pause: connections are refused, and names that are looked up again have no route. */
  | "no-route"
  /** One receiver refuses connections for the pause, as it does while it restarts. */
  | "receiver-restarts"
  /** A dozen endpoints of one organization answer slowly for the pause. */
  | "slow-crowd"
  /** One organization emits thousands of events at once. */
  | "flood"
  /** One organization emits events of nearly the largest size, many at once. */
  | "large-bodies";

export interface PlannedFault {
  /** After the start of the run. */
  atMs: number;
  kind: FaultKind;
  /** A service (`dispatcher-1`), a link (`dispatcher-1>postgres`), an endpoint by its place, the receivers, or the server itself. */
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

/** One deal of these lasts about forty seconds, so a run of a minute sees every kind, most of them several times. */
const DECK: readonly ShortFault[] = [
  ...repeated("kill", 5),
  "crash-loop",
  "terminate",
  ...repeated("freeze", 3),
  ...repeated("cut", 3),
  ...repeated("stall", 3),
  ...repeated("silent-server", 2),
  "silent-client",
  ...repeated("clock", 3),
  "rabbitmq-killed",
  ...repeated("postgres-crashed", 2),
  "memory-alarm",
  "resolver-dead",
  "no-route",
  ...repeated("receiver-restarts", 2),
  "slow-crowd",
  ...repeated("flood", 2),
  "large-bodies",
  ...repeated("frozen", 3),
];
const INTERVAL_MS = 1_300;
/** The load runs alone for so long at first, and the last faults fall before its end. */
const LEAD_IN_MS = 1_000;

/** Not of the deck: one of each goes on beside all the others, from the start on, for so long or until the run ends. */
const LONG_MS = { "row-lock": 90_000, "long-transaction": Number.POSITIVE_INFINITY } as const;
type LongFault = keyof typeof LONG_MS;
type ShortFault = Exclude<FaultKind, LongFault>;

const DURATION_MS: Readonly<Record<ShortFault, readonly [low: number, high: number]>> = {
  kill: [100, 2_000],
  "crash-loop": [5_000, 12_000],
  terminate: [0, 500],
  // Up to more than three times as long as an owner lives without a heartbeat.
  freeze: [1_000, 20_000],
  // Also shorter than an owner lives without a heartbeat: then all results still count.
  frozen: [3_000, 9_000],
  cut: [0, 0],
  stall: [500, 12_000],
  // How long it may take the other side to notice.
  "silent-server": [8_000, 8_000],
  "silent-client": [8_000, 8_000],
  // Long enough for attempts that fail, and their retries.
  clock: [5_000, 15_000],
  "rabbitmq-killed": [0, 1_500],
  "postgres-crashed": [0, 1_500],
  "memory-alarm": [1_500, 5_000],
  // Longer than a dispatcher keeps the name server's answers.
  "resolver-dead": [7_000, 14_000],
  "no-route": [3_000, 10_000],
  "receiver-restarts": [2_000, 10_000],
  "slow-crowd": [5_000, 10_000],
  flood: [0, 0],
  "large-bodies": [0, 0],
};

/** More than receivers tolerate (SPEC 4.4.3), and a day. */
const CLOCKS_AHEAD_MS = [400_000, -400_000, 86_400_000, -86_400_000] as const;

/** Where a fault can hurt more, it falls more often. */
const SERVICE_WEIGHTS: Readonly<Record<ServiceLabel, number>> = {
  "management-api-1": 1,
  "management-api-2": 1,
  "publisher-1": 2,
  "publisher-2": 2,
  "dispatcher-1": 3,
  "dispatcher-2": 3,
};

/** The faults of a run, in their order. Pure: the same for the same seed and length. */
export function planFaults(seed: number, seconds: number): PlannedFault[] {
  const faults = planLongFaults(seed, seconds);
  let atMs = LEAD_IN_MS;
  let restarts = 0;
  for (let index = 0; ; index++) {
    const deal = Math.floor(index / DECK.length);
    const kind = shuffled(DECK, seed, "deal", deal)[index % DECK.length] as ShortFault;
    atMs += drawBetween(0.4, 1.6, seed, "pause", index) * INTERVAL_MS;
    if (atMs >= seconds * 1_000) return faults;
    const [low, high] = DURATION_MS[kind];
    const durationMs = Math.round(drawBetween(low, high, seed, "duration", index));
    // By turns: two restarts of one receiver soon after each other are an outage that it may be disabled for.
    const target = kind === "receiver-restarts" ? String(restarts++) : targetOf(kind, seed, index);
    const clock = kind === "clock" ? { aheadMs: drawOne(CLOCKS_AHEAD_MS, seed, "clock", index) } : {};
    faults.push({ atMs: Math.round(atMs), kind, target, durationMs, ...clock });
  }
}

function planLongFaults(seed: number, seconds: number): PlannedFault[] {
  const rest = seconds * 1_000 - LEAD_IN_MS;
  if (rest <= 0) return [];
  const long = (kind: LongFault, target: string) => ({
    ...{ atMs: LEAD_IN_MS, kind, target, durationMs: Math.min(LONG_MS[kind], rest) },
  });
  const endpoint = String(Math.floor(drawBetween(0, 100, seed, "locked endpoint")));
  return [long("row-lock", endpoint), long("long-transaction", "postgres")];
}

function targetOf(kind: Exclude<ShortFault, "receiver-restarts">, seed: number, index: number): string {
  switch (kind) {
    case "crash-loop":
      return drawOne(["dispatcher-1", "dispatcher-2"], seed, "target", index);
    case "kill":
    case "terminate":
    case "freeze":
    case "clock":
      return drawWeighted(SERVICE_WEIGHTS, seed, "target", index);
    case "cut":
    case "stall":
    case "silent-server":
    case "silent-client":
      return drawOne(LINKS, seed, "target", index);
    case "rabbitmq-killed":
    case "memory-alarm":
      return "rabbitmq";
    case "postgres-crashed":
      return "postgres";
    case "resolver-dead":
    case "no-route":
      return "network";
    case "frozen":
      return "dispatchers";
    case "slow-crowd":
      return "receivers";
    case "flood":
    case "large-bodies":
      return "emitter";
  }
}

function repeated(kind: ShortFault, times: number): ShortFault[] {
  return Array.from({ length: times }, () => kind);
}
