import type { Outages } from "@herald/amqp";
import { ConfigError } from "../config/read-config.ts";
import { BROKER, explain, isTlsFault } from "../security/connection-fault.ts";

/** @throws ConfigError if there are authorities to check the broker by, and the URL asks for no TLS */
export function assertTls(url: string, ca: string | undefined): void {
  if (ca === undefined || /^amqps:/i.test(url)) return;
  throw new ConfigError([
    "AMQP_CA_FILE is set, but AMQP_URL asks for no TLS. Write amqps:// and the broker's port for TLS.",
  ]);
}

/** amqplib's words for a login or a virtual host that is refused. A channel that is refused something has others. */
const REFUSED = /^Handshake terminated by server|^Expected ConnectionOpenOk/;

/** The same outages. A failure of TLS, a wrong login and a wrong virtual host say what to do. */
export function outagesInWords(outages: Outages, url: string): Outages {
  return {
    up: outages.up,
    down(what, error) {
      if (!isTlsFault(error) && !REFUSED.test(error.message)) return outages.down(what, error);
      const words = explain(error, BROKER, url);
      outages.down(what, new Error(`${words.what} ${words.remedy}`, { cause: error }));
    },
  };
}
