import { setTimeout as sleep } from "node:timers/promises";
import type { RunningHerald } from "../running-herald.ts";
import type { AddedEndpoint } from "../traffic.ts";
import { untilNothingIsDue } from "./stored-backlog.ts";

const CROWD = 2_500;
/** Endpoints that are created at once. */
const CREATED_AT_ONCE = 4;
/** Just within the time that an attempt may take by default: it succeeds, and holds its slot for as long as anything can. */
const SLOW_ANSWER = { afterMs: 14_000, exact: true };
/** An attempt that a busy machine makes longer by a moment must not fail: it would come again in the next round. */
const ATTEMPT_TIMEOUT_SECONDS = "19";
/** Of each: together more than the dispatcher may have in flight. */
const EVENTS = 2;
/** Its slots are full when nothing has arrived for so long, which they can't have been for longer than the slow answer takes. */
const QUIET_MS = 1_000;
const FILLING_MS = SLOW_ANSWER.afterMs - 2 * QUIET_MS;

/** Settings of the services beside a crowd. */
export const CROWD_SETTINGS = {
  dispatcher: { ATTEMPT_TIMEOUT_SECONDS },
  "management-api": { ATTEMPT_TIMEOUT_SECONDS },
};

export const CROWD_CONDITIONS = {
  "other organizations, of one slow endpoint each": CROWD,
  "which answer after exactly": `${SLOW_ANSWER.afterMs / 1_000} s`,
  "deliveries of each": EVENTS,
};

/** Many organizations with an endpoint each, all of them healthy, and slow when they are told to be. */
export interface Crowd {
  /** Gives each endpoint a backlog that it takes slowly; resolves when no more of it is begun. */
  begin(): Promise<void>;
  /** Lets them take the rest at once; resolves when nothing of all that is waits or is in flight any more. */
  end(): Promise<void>;
}

export async function addCrowd({ herald, traffic }: RunningHerald): Promise<Crowd> {
  const endpoints: AddedEndpoint[] = [];
  while (endpoints.length < CROWD) {
    const names = Array.from({ length: CREATED_AT_ONCE }, (_, index) => `crowd-${endpoints.length + index}`);
    endpoints.push(...(await Promise.all(names.map((name) => traffic.addEndpoint(name)))));
  }
  const emitter = await traffic.addEmitter(...endpoints);
  return {
    async begin() {
      await Promise.all(endpoints.map((endpoint) => endpoint.answer(SLOW_ANSWER)));
      await emitter.emit(EVENTS * CROWD);
      const deadline = performance.now() + FILLING_MS;
      for (let before = -1, now = 0; (now === 0 || now !== before) && performance.now() < deadline; ) {
        before = now;
        await sleep(QUIET_MS);
        now = await traffic.received(...endpoints);
      }
    },
    async end() {
      await Promise.all(endpoints.map((endpoint) => endpoint.answer({ afterMs: 0 })));
      await untilNothingIsDue(herald);
    },
  };
}
