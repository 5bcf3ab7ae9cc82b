import { setTimeout as sleep } from "node:timers/promises";
import type { RunningHerald } from "../running-herald.ts";
import { untilNothingIsDue } from "./stored-backlog.ts";

const CROWD_ENDPOINTS = 100;
/** Just within the time that an attempt may take by default: it succeeds, and holds its slot for as long as anything can. */
export const SLOW_ANSWER = { afterMs: 14_000, exact: true };
/** An attempt that a busy machine makes longer by a moment must not fail: it would come again in the next round. */
const ATTEMPT_TIMEOUT_SECONDS = "19";
/** Of each endpoint: four times what it can have in flight at once, so that its slots stay full. */
const EVENTS = 40;
/** Its slots are full when nothing has arrived for so long, which they can't have been for longer than the slow answer takes. */
const QUIET_MS = 1_000;
const FILLING_MS = SLOW_ANSWER.afterMs - 2 * QUIET_MS;

/** Settings of the services beside a crowd. */
export const CROWD_SETTINGS = {
  dispatcher: { ATTEMPT_TIMEOUT_SECONDS },
  "management-api": { ATTEMPT_TIMEOUT_SECONDS },
};

export const CROWD_CONDITIONS = {
  "slow endpoints of one other organization": CROWD_ENDPOINTS,
  "which answer after exactly": `${SLOW_ANSWER.afterMs / 1_000} s`,
  "deliveries of each": EVENTS,
};

/** An organization with many endpoints, all of them healthy, and slow when they are told to be. */
export interface Crowd {
  /** Gives each endpoint a backlog that it takes slowly; resolves when its slots are full. */
  begin(): Promise<void>;
  /** Lets them take the rest at once; resolves when nothing of all that is waits or is in flight any more. */
  end(): Promise<void>;
}

export async function addCrowd({ herald, traffic }: RunningHerald): Promise<Crowd> {
  const endpoints = await traffic.addOrganization("crowd", CROWD_ENDPOINTS);
  const [first] = endpoints;
  if (!first) throw new Error("A crowd has endpoints.");
  const emitter = await traffic.addEmitter(first);
  return {
    async begin() {
      for (const endpoint of endpoints) await endpoint.answer(SLOW_ANSWER);
      await emitter.emit(EVENTS);
      const deadline = performance.now() + FILLING_MS;
      for (let before = -1, now = 0; (now === 0 || now !== before) && performance.now() < deadline; ) {
        before = now;
        await sleep(QUIET_MS);
        now = await traffic.received(...endpoints);
      }
    },
    async end() {
      for (const endpoint of endpoints) await endpoint.answer({ afterMs: 0 });
      await untilNothingIsDue(herald);
    },
  };
}
