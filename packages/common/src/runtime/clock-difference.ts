/** From here on a difference is told, and leases may be over when they are written. */
export const WARN_ABOVE_MS = 1_000;

/** From here on the dispatcher is not ready. Leases and hints allow for less than that. */
export const NOT_READY_ABOVE_MS = 5_000;

/**
 * By how much this process's clock is ahead of PostgreSQL's, in milliseconds; negative where it is behind. Only what is certain: PostgreSQL
 * read its clock at some moment between question and answer.
 */
export function clockDifferenceMs({ asked, theirs, answered }: { asked: Date; theirs: Date; answered: Date }): number {
  if (theirs < asked) return asked.getTime() - theirs.getTime();
  if (theirs > answered) return answered.getTime() - theirs.getTime();
  return 0;
}
