/**
 * A budget of bytes for large bodies in memory. Organizations share it: while another one waits, none may have more than half. One body always fits
 * into an empty budget, else a large one would never be sent. Pure.
 */
export function createByteBudget(total: number) {
  const takenBy = new Map<string, number>();
  let taken = 0;

  return {
    /**
     * Takes bytes for an organization, if they are free.
     *
     * @param othersWait whether another organization waits for bytes
     */
    take(organizationId: string, bytes: number, othersWait: boolean): boolean {
      const own = takenBy.get(organizationId) ?? 0;
      const most = othersWait && own > 0 ? total / 2 : Number.POSITIVE_INFINITY;
      if (taken > 0 && (taken + bytes > total || own + bytes > most)) return false;
      taken += bytes;
      takenBy.set(organizationId, own + bytes);
      return true;
    },
    release(organizationId: string, bytes: number): void {
      const left = (takenBy.get(organizationId) ?? 0) - bytes;
      if (left < 0) throw new Error("More bytes are released than were taken.");
      taken -= bytes;
      if (left > 0) takenBy.set(organizationId, left);
      else takenBy.delete(organizationId);
    },
  };
}
