import { draw, drawBetween, drawOne } from "./draw.ts";
import type { Character } from "./tenants.ts";

/** A receiver's treatment of one request. */
export type Behaviour =
  | { does: "answers"; status: number; afterMs: number }
  /** Answers 200 when the sender has given up. */
  | { does: "answers-late" }
  | { does: "hangs" }
  /** Resets the connection before a byte of an answer. */
  | { does: "resets" }
  /** Closes it in the middle of the response's headers. */
  | { does: "breaks-off" }
  /** 200, and then less of a body than announced. */
  | { does: "cuts-body" }
  /** 200, and then a body that goes on for longer than anyone reads. */
  | { does: "drips-body" }
  /** 200, and then chunks that are none. */
  | { does: "garbles-body" }
  /** 102, 103, and then 200. */
  | { does: "processes-first" };

/** An attempt of such a run may take two seconds. */
const CROWD_ANSWERS_AFTER_MS = 1_400;
/** Long enough for everything else that is said about the delivery to come before. */
const REFUSES_LATE_AFTER_MS = 1_000;
const REFUSALS = [400, 401, 404, 409, 410, 422, 429, 500, 502, 503, 504] as const;
const REDIRECTS = [301, 302, 303, 307, 308] as const;

/** Decides by seed, endpoint, delivery and its nth request, so that a run's receivers do the same again. Those that are out are in an outage. */
export function planBehaviour(
  seed: number,
  { endpoint, character, isOut, isSlow }: { endpoint: number; character: Character; isOut: boolean; isSlow: boolean },
  delivery: string,
  nth: number,
): Behaviour {
  const labels = [endpoint, delivery, nth] as const;
  const chance = draw(seed, "behaviour", ...labels);
  const soon: Behaviour = {
    does: "answers",
    status: drawOne([200, 201, 202, 204], seed, "status", ...labels),
    afterMs: Math.round(drawBetween(0, 10, seed, "delay", ...labels)),
  };
  const refusal: Behaviour = {
    does: "answers",
    status: drawOne(REFUSALS, seed, "refusal", ...labels),
    afterMs: draw(seed, "refuses late", ...labels) < 0.5 ? REFUSES_LATE_AFTER_MS : 0,
  };
  switch (character) {
    case "steady":
    case "paused":
    case "restarting":
      return soon;
    case "crowd":
      return isSlow ? { ...soon, afterMs: CROWD_ANSWERS_AFTER_MS } : soon;
    case "broken":
      return isOut ? refusal : soon;
    case "flaky":
      // One that is refused each time, and so uses up its attempts.
      if (draw(seed, "poison", endpoint, delivery) < 0.01) return refusal;
      return chance < 0.15 ? refusal : soon;
    case "slow":
      if (chance < 0.02) return { does: "answers-late" };
      return chance < 0.3 ? { ...soon, afterMs: Math.round(drawBetween(100, 700, seed, "delay", ...labels)) } : soon;
    case "resetting":
      if (chance < 0.12) return { does: "resets" };
      return chance < 0.16 ? { does: "breaks-off" } : soon;
    case "lying":
      if (chance < 0.06) return { does: "cuts-body" };
      if (chance < 0.09) return { does: "drips-body" };
      if (chance < 0.15) return { does: "garbles-body" };
      if (chance < 0.2) return { does: "processes-first" };
      if (chance < 0.26)
        return { does: "answers", status: drawOne(REDIRECTS, seed, "redirect", ...labels), afterMs: 0 };
      return soon;
    case "hanging":
      return chance < 0.05 ? { does: "hangs" } : soon;
  }
}
