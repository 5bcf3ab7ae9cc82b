import type { Expectation } from "./check.ts";

/** How a request ended: with an answer, or without one. */
export type Outcome = { status: number } | { failure: string; message: string };

/** Null where it is what was expected; else what is wrong with it, in words. */
export function faultOf(expect: Expectation, outcome: Outcome): string | null {
  if (expect === "nothing") return null;
  if (!("status" in outcome)) {
    if (expect === "refuse_or_close" && outcome.failure === "broken") return null;
    return outcome.message;
  }
  const { status } = outcome;
  if (status >= 500) return `answered ${status}: an error of the program`;
  if (status >= 300 && status < 400) return `answered ${status}: Herald follows no redirects`;
  const accepted = status < 300;
  if (expect === "accept" && !accepted) return `answered ${status}, and 2xx is right`;
  if ((expect === "refuse" || expect === "refuse_or_close") && accepted) return `answered ${status}: it was accepted`;
  return null;
}
