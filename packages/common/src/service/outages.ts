import { setTimeout as sleep } from "node:timers/promises";
import { type BrokerLog, logOutages, type Outages } from "@herald/amqp";
import { ConfigError } from "../config/read-config.ts";
import { TimeUnknownError } from "../database/database-clock.ts";
import { isDatabaseOutage } from "../database/errors.ts";
import { BROKER, explain, hostOf, isRefused, isTlsFault, type Server } from "../security/connection-fault.ts";
import type { Log } from "../telemetry/log.ts";

export type { Outages } from "@herald/amqp";

/** For this long a refusal at the start is tried again: a server that has just started may not have all its users yet. */
const REFUSED_MS = 5_000;

/** Other errors of the broker are about a channel, or about a connection that was open before. */
const NO_CONNECTION: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/**
 * Writes two lines for each outage of a server, with the setting to correct. A wrong login, database or virtual host gets none: if it has been
 * refused since the start, the error goes to `end`, since no later try helps.
 */
export function outagesInWords(
  log: BrokerLog,
  server: Server,
  { url, end = () => {} }: { url: string; end?: (error: ConfigError) => void },
): Outages {
  const outages = logOutages(log, { host: hostOf(url) }, server.name);
  let wasUp = false;
  let refusedAtMs: number | undefined;
  return {
    up(what) {
      wasUp = true;
      outages.up(what);
    },
    down(what, error) {
      const isRefusal = isRefused(error);
      const isKnown = isRefusal || isTlsFault(error) || NO_CONNECTION.has((error as NodeJS.ErrnoException).code);
      if (server === BROKER && !isKnown) return outages.down(what, error);
      const words = explain(error, server, url);
      const text = `${words.what} ${words.remedy}`;
      if (wasUp || !isRefusal) return outages.down(what, new Error(text, { cause: error }));
      refusedAtMs ??= performance.now();
      if (performance.now() - refusedAtMs > REFUSED_MS) end(new ConfigError([text]));
    },
  };
}

/** An answer of PostgreSQL to a ping is at most this old. */
const PING_LIFE_MS = 1_000;

/**
 * The same log without errors of statements that failed only because PostgreSQL is away: the outage itself has two lines. If it is not known to be
 * away, such an error is written a second later, if PostgreSQL answers a ping that was sent after it.
 */
export function quietWhileAway(log: Log, { isAway, ping }: { isAway: () => boolean; ping: () => Promise<void> }): Log {
  const quiet =
    (write: Log["error"]): Log["error"] =>
    (message, fields) => {
      const error = fields?.error;
      if (!(error instanceof Error) || !isDatabaseOutage(error)) return write(message, fields);
      if (error instanceof TimeUnknownError || isAway()) return;
      sleep(PING_LIFE_MS, undefined, { ref: false })
        .then(ping)
        .then(
          () => write(message, fields),
          () => {},
        );
    };
  return { ...log, warn: quiet(log.warn), error: quiet(log.error) };
}
