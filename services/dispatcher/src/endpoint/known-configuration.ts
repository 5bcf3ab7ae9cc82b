import type { Configuration, TimedConfiguration } from "../sql/read-configuration.ts";

/** A configuration that was read longer ago is read again before an attempt. */
const CURRENT_MS = 500;

/** The configuration of one endpoint, as far as its owner knows it. Times are PostgreSQL's, in milliseconds. */
export class KnownConfiguration {
  #known: Configuration | undefined;
  /** The endpoint had it at this time. */
  #atMs = Number.NEGATIVE_INFINITY;
  /** How often a message has said that it changed, and how often one had when the reading of what is known began. */
  #changes = 0;
  #changesBefore = 0;
  #changedAtMs = Number.NEGATIVE_INFINITY;

  /** How often it has changed. A reading that is taken later has to bring the number from before it began. */
  get changes(): number {
    return this.#changes;
  }

  /** The configuration for an attempt that begins now (SPEC 2.3); undefined if it has to be read first. */
  current(nowMs: number): Configuration | undefined {
    const isCurrent = this.#changesBefore === this.#changes && Math.abs(nowMs - this.#atMs) <= CURRENT_MS;
    return isCurrent ? this.#known : undefined;
  }

  /** Takes a configuration that was read. @returns whether it is another revision than the one before */
  take({ configuration, configuredAt }: TimedConfiguration, changesBefore: number): boolean {
    const isChanged = this.isOther(configuration.revision);
    this.#known = configuration;
    this.#atMs = configuredAt.getTime();
    this.#changesBefore = changesBefore;
    return isChanged;
  }

  isOther(revision: bigint): boolean {
    return this.#known !== undefined && this.#known.revision !== revision;
  }

  /** A message says that the endpoint was changed, or deleted. */
  changed(nowMs: number): void {
    this.#changes++;
    this.#changedAtMs = nowMs;
  }

  wasChangedSince(at: Date): boolean {
    return at.getTime() <= this.#changedAtMs;
  }

  /**
   * A publisher's statement has read this revision at this time. Returns whether it is the known one. `stored` is false for an earlier statement than
   * the one that stores the event: it may be older than what is known here.
   */
  wasSeen(revision: string, atMs: number, stored: boolean): boolean {
    const isSame = String(this.#known?.revision) === revision;
    if (isSame) this.#atMs = Math.max(this.#atMs, atMs);
    else if (stored) this.#atMs = Number.NEGATIVE_INFINITY;
    return isSame;
  }
}
