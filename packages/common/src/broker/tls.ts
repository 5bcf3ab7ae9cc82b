import type { Outages } from "@herald/amqp";
import { ConfigError } from "../config/read-config.ts";
import { type Explanation, explainTlsFailure, type TlsServer } from "../security/server-certificate.ts";

const SERVER: TlsServer = { name: "RabbitMQ", urlSetting: "AMQP_URL", caSetting: "AMQP_CA_FILE" };

/** @throws ConfigError where there are authorities to check the broker by, and the URL asks for no TLS */
export function assertTls(url: string, ca: string | undefined): void {
  if (ca === undefined || /^amqps:/i.test(url)) return;
  throw new ConfigError([
    "AMQP_CA_FILE is set, but AMQP_URL asks for no TLS. Write amqps:// and the broker's port for TLS.",
  ]);
}

/** What is wrong between this process and the broker's TLS, and what to do; undefined for other errors. */
export function explainBrokerTls(error: unknown): Explanation | undefined {
  return explainTlsFailure(error, SERVER);
}

/** The same outages, with the failures of TLS in words. */
export function outagesInWords(outages: Outages): Outages {
  return {
    up: outages.up,
    down(what, error) {
      const words = explainBrokerTls(error);
      outages.down(what, words === undefined ? error : new Error(`${words.what} ${words.remedy}`, { cause: error }));
    },
  };
}
