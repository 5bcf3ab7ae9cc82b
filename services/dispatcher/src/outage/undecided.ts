import type { Layer } from "../attempt/probe.ts";
import type { OutageSense, Unreached } from "./sense.ts";

/** Whose fault a result is. Herald's own is neither recorded nor counted, and the delivery is due again. */
export type Fault = "theirs" | "ours";

interface Undecided {
  layer: Layer;
  unreached: Unreached;
  /** How many other hosts must fail too while it waits; else it is its receiver's fault. */
  others: number;
  roundsLeft: number;
  resolve: (fault: Fault) => void;
}

/** Look-ups that start together time out seconds apart, so a result waits three rounds. */
const ROUNDS = 3;

/** Keeps results until it is known whose fault they are. */
export function createUndecided(senses: Readonly<Record<Layer, OutageSense>>) {
  const undecided = new Set<Undecided>();

  function decide(one: Undecided, fault: Fault): void {
    undecided.delete(one);
    one.resolve(fault);
  }

  function isDoubted({ layer, unreached, others }: Undecided): boolean {
    const hosts = new Set(senses[layer].failing().map(({ host }) => host));
    hosts.delete(unreached.host);
    return hosts.size >= others;
  }

  return {
    isEmpty: () => undecided.size === 0,
    isIn: (layer: Layer) => [...undecided].some((one) => one.layer === layer),
    verdict: (layer: Layer, unreached: Unreached, others: number) =>
      new Promise<Fault>((resolve) => void undecided.add({ layer, unreached, others, roundsLeft: ROUNDS, resolve })),
    /** A receiver was reached in a layer: failures of attempts that began before are their receivers' own. */
    reached(layer: Layer): void {
      for (const one of undecided) {
        if (one.layer === layer && senses[layer].isContradicted(one.unreached)) decide(one, "theirs");
      }
    },
    /** Decides those that too few others confirm. */
    decideUndoubted(): void {
      for (const one of undecided) if (!isDoubted(one)) decide(one, "theirs");
    },
    /** A round of probes has ended in a layer, with an outage or without one. */
    round(layer: Layer, isOutage: boolean): void {
      for (const one of undecided) {
        if (one.layer !== layer) continue;
        if (isOutage) decide(one, "ours");
        else if (--one.roundsLeft === 0) decide(one, "theirs");
      }
    },
    /** Another dispatcher decides them. */
    giveUp(): void {
      for (const one of undecided) decide(one, "ours");
    },
  };
}
