import type { EventType } from "@herald/contracts";
import { draw, drawBetween, drawUuid } from "./draw.ts";

/** How a receiver of the run behaves. */
export type Character =
  /** Takes everything, quickly. */
  | "steady"
  /** Refuses some, with all sorts of statuses. */
  | "flaky"
  /** Takes its time, and now and then answers after the deadline. */
  | "slow"
  /** Closes or resets connections before it has answered. */
  | "resetting"
  /** Says 2xx and then breaks off, drips, or sends what it did not announce; redirects; sends 1xx first. */
  | "lying"
  /** Never answers, now and then. */
  | "hanging"
  /** Takes nothing at all for a while, again and again, and so gets disabled. */
  | "broken"
  /** Takes everything, but its admin pauses and resumes it. */
  | "paused"
  /** Takes everything, but restarts now and then. */
  | "restarting"
  /** Takes everything, and slowly while the plan says so; one of many of an organization. */
  | "crowd";

export interface Tenant {
  organizationId: string;
  /** Share of the events, against the others' weights. */
  weight: number;
  /** Two relays send its outbox: each event comes twice. */
  twoRelays?: boolean;
  endpoints: { character: Character; types: readonly EventType[] }[];
}

const ALL: readonly EventType[] = [
  "ProjectCreated",
  "WorkItemCompleted",
  "ResourceAllocated",
  "TimesheetApproved",
  "RiskCreated",
  "ChangeRequestApproved",
];
const SOME: readonly EventType[] = ["WorkItemCompleted", "TimesheetApproved", "RiskCreated"];

const FEW: readonly EventType[] = ["ProjectCreated", "ResourceAllocated"];
const CROWD = 12;

/** The organizations of a run and their endpoints: more events for the quick, since the slow would only pile them up. */
export function planTenants(seed: number): Tenant[] {
  const tenants: Omit<Tenant, "organizationId">[] = [
    { weight: 6, endpoints: [{ character: "steady", types: ALL }] },
    {
      weight: 4,
      endpoints: [
        { character: "steady", types: SOME },
        { character: "flaky", types: ALL },
      ],
    },
    { weight: 2, endpoints: [{ character: "slow", types: ALL }] },
    { weight: 2, endpoints: [{ character: "resetting", types: ALL }] },
    { weight: 2, endpoints: [{ character: "lying", types: ALL }] },
    { weight: 1, endpoints: [{ character: "hanging", types: ALL }] },
    {
      weight: 2,
      endpoints: [
        { character: "broken", types: ALL },
        { character: "steady", types: ALL },
      ],
    },
    { weight: 3, endpoints: [{ character: "paused", types: ALL }] },
    { weight: 2, endpoints: [{ character: "restarting", types: ALL }] },
    {
      weight: 2,
      endpoints: [
        { character: "restarting", types: ALL },
        { character: "restarting", types: SOME },
      ],
    },
    { weight: 1, endpoints: Array.from({ length: CROWD }, () => ({ character: "crowd", types: FEW })) },
    // Each gets few enough to be healthy and without a backlog mostly, so that its events are attempted before they are stored.
    {
      weight: 2,
      twoRelays: true,
      endpoints: Array.from({ length: CROWD }, () => ({ character: "flaky", types: FEW })),
    },
  ];
  return tenants.map((tenant, index) => ({ organizationId: drawUuid(seed, "organization", index), ...tenant }));
}

/** Organizations whose receivers take everything: whatever fails, it is not for a reason of theirs. */
export function planSteadyTenants(seed: number): Tenant[] {
  return [0, 1, 2, 3].map((index) => ({
    organizationId: drawUuid(seed, "organization", index),
    weight: 1,
    endpoints: [{ character: "steady", types: ALL }],
  }));
}

export interface Period {
  fromMs: number;
  untilMs: number;
}

/** When the broken receivers take nothing, after the start of the run. The longer ones outlast five failures and the pauses between. */
export function planOutages(seed: number, seconds: number): Period[] {
  return periods(seed, "outage", seconds, { pause: [3_000, 9_000], length: [8_000, 28_000] });
}

/** When an admin has paused the endpoints that get paused. Long enough to see that nothing comes any more. */
export function planPauses(seed: number, seconds: number): Period[] {
  return periods(seed, "pause", seconds, { pause: [3_000, 9_000], length: [11_000, 16_000] });
}

function periods(
  seed: number,
  label: string,
  seconds: number,
  { pause, length }: { pause: readonly [number, number]; length: readonly [number, number] },
): Period[] {
  const planned: Period[] = [];
  let at = 0;
  for (let index = 0; ; index++) {
    const fromMs = Math.round(at + drawBetween(...pause, seed, label, index, "pause"));
    const untilMs = Math.round(fromMs + drawBetween(...length, seed, label, index, "length"));
    if (fromMs >= seconds * 1_000) return planned;
    planned.push({ fromMs, untilMs });
    at = untilMs;
  }
}

/** How long an admin takes to repair an endpoint and to resume it, when it was disabled for the nth time. */
export function repairMs(seed: number, endpoint: number, nth: number): number {
  return Math.round(2_000 + 10_000 * draw(seed, "repair", endpoint, nth));
}
