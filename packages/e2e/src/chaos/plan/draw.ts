import { createHash } from "node:crypto";

type Labels = readonly (string | number)[];

const digestOf = (seed: number, labels: Labels) =>
  createHash("sha256")
    .update([seed, ...labels].join("/"))
    .digest();

/**
 * A number in [0, 1) that follows from the seed and the labels alone. There is no state to share between processes, and
 * what one thing draws does not depend on what was drawn before it: so a run's plan is the same in whatever order it happens.
 */
export function draw(seed: number, ...labels: Labels): number {
  return digestOf(seed, labels).readUIntBE(0, 6) / 2 ** 48;
}

/** From `low`, inclusive, to `high`, exclusive. */
export function drawBetween(low: number, high: number, seed: number, ...labels: Labels): number {
  return low + (high - low) * draw(seed, ...labels);
}

export function drawOne<T>(from: readonly T[], seed: number, ...labels: Labels): T {
  return from[Math.floor(draw(seed, ...labels) * from.length)] as T;
}

/** One of the keys, each as likely as its weight says. */
export function drawWeighted<K extends string>(
  weights: Readonly<Record<K, number>>,
  seed: number,
  ...labels: Labels
): K {
  const entries = Object.entries<number>(weights) as [K, number][];
  const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
  let left = draw(seed, ...labels) * total;
  for (const [key, weight] of entries) {
    left -= weight;
    if (left < 0) return key;
  }
  return (entries.at(-1) as [K, number])[0];
}

/** A UUID (version 4) that follows from the seed and the labels. */
export function drawUuid(seed: number, ...labels: Labels): string {
  const hex = digestOf(seed, labels).toString("hex");
  const variant = "89ab"[Number.parseInt(hex[16] ?? "0", 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The items in an order that follows from the seed and the labels. */
export function shuffled<T>(items: readonly T[], seed: number, ...labels: Labels): T[] {
  return items
    .map((item, index) => ({ item, rank: draw(seed, ...labels, index) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
