import type { Configuration, TimedConfiguration } from "../sql/read-configuration.ts";

/** A configuration that was read longer ago is read again before an attempt. */
const CURRENT_MS = 500;

/** The configuration of one endpoint, as far as its owner knows it. Times are PostgreSQL's, in milliseconds. */
export class KnownConfiguration {
  #known: Configuration | undefined;
  /** The endpoint had it at this time. */
  #atMs = Number.NEGATIVE_INFINITY;
  /** When a message last said that it has changed: a configuration that was read before is stale. */
  #changedAtMs = Number.NEGATIVE_INFINITY;

  /** The configuration for an attempt that begins now (SPEC 2.3); undefined if it has to be read first. */
  current(nowMs: number): Configuration | undefined {
    const isCurrent = this.#atMs >= this.#changedAtMs && Math.abs(nowMs - this.#atMs) <= CURRENT_MS;
    if (isCurrent && this.#known) return this.#known;
    // If PostgreSQL's clock was set back since, no reading would ever be late enough.
    this.#changedAtMs = Math.min(this.#changedAtMs, nowMs);
    return undefined;
  }

  /** Takes a configuration that was read. @returns whether it is another revision than the one before */
  take({ configuration, configuredAt }: TimedConfiguration): boolean {
    const isChanged = this.isOther(configuration.revision);
    this.#known = configuration;
    this.#atMs = configuredAt.getTime();
    return isChanged;
  }

  /** Whether another revision is known than this one. */
  isOther(revision: bigint): boolean {
    return this.#known !== undefined && this.#known.revision !== revision;
  }

  /** A message says that the endpoint was changed, or deleted. */
  changed(nowMs: number): void {
    this.#changedAtMs = nowMs;
    // The clock stands still after a step back of PostgreSQL's: what is known may have this very time, and is older.
    this.#atMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether the endpoint may have been changed since this time. */
  wasChangedSince(at: Date): boolean {
    return at.getTime() <= this.#changedAtMs;
  }

  /**
   * A publisher's statement has read this revision at this time. Returns whether it is the known one.
   *
   * @param stored false for an earlier statement than the one that stores the event: it may be older than what is known here
   */
  wasSeen(revision: string, atMs: number, stored: boolean): boolean {
    const isSame = String(this.#known?.revision) === revision;
    if (isSame) this.#atMs = Math.max(this.#atMs, atMs);
    else if (stored) this.#atMs = Number.NEGATIVE_INFINITY;
    return isSame;
  }
}
