/** The log of this package. Any logger with these methods fits. */
export interface BrokerLog {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Receives each failure of a connection or a channel, and each recovery. */
export interface Outages {
  /** Called for each failed try, so usually many times in one outage. `what` names the connection or the channel. */
  down(what: string, error: Error): void;
  up(what: string): void;
}

/**
 * Writes two lines for each outage, one at its beginning and one at its end. Failed tries in between are debug lines.
 *
 * @param where fields of each line, for instance the broker's host
 * @param server as the lines call it
 */
export function logOutages(log: BrokerLog, where: Record<string, unknown> = {}, server = "broker"): Outages {
  const since = new Map<string, number>();
  return {
    down(what, error) {
      const fields = { ...where, what, reason: error.message };
      if (since.has(what)) {
        log.debug(`${server}: still down`, fields);
        return;
      }
      since.set(what, performance.now());
      log.warn(`${server}: down; trying again until it is back`, fields);
    },
    up(what) {
      const start = since.get(what);
      if (start === undefined) return;
      since.delete(what);
      log.info(`${server}: back`, { ...where, what, downMs: Math.round(performance.now() - start) });
    },
  };
}
