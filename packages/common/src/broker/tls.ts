import { ConfigError } from "../config/read-config.ts";

/** @throws ConfigError if there are authorities to check the broker by, and the URL asks for no TLS */
export function assertTls(url: string, ca: string | undefined): void {
  if (ca === undefined || /^amqps:/i.test(url)) return;
  throw new ConfigError([
    "AMQP_CA_FILE is set, but AMQP_URL asks for no TLS. Write amqps:// and the broker's port for TLS.",
  ]);
}
