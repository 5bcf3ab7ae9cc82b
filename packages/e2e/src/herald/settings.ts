import { newSealingKeys } from "@herald/common/security/sealing-keys";
import type { BrokerUrls } from "@herald/dev/stack/broker-rights";
import { DEVELOPMENT_AUDIENCE, DEVELOPMENT_ISSUER } from "@herald/dev/start/development-token";

/** The servers and files that a Herald of tests and measurements runs on. */
export interface HeraldEnvironment {
  databaseUrl: string;
  amqpUrl: string;
  /** Where each service has a broker user of its own: its URL, in place of `amqpUrl`. */
  serviceUrls?: BrokerUrls;
  namespace: string;
  /** PEM file of the authority that the receivers' certificates come from. */
  caFile: string;
}

export const JWT_SECRET = "a secret for tests only, which signs nothing else";
const KEYS = newSealingKeys("test");

/** Environment variables of all three services: ports of their own, receivers on the loopback allowed. */
export function heraldSettings({ databaseUrl, amqpUrl, namespace, caFile }: HeraldEnvironment): Record<string, string> {
  return {
    HERALD_ENV: "development",
    DATABASE_URL: databaseUrl,
    AMQP_URL: amqpUrl,
    BROKER_NAMESPACE: namespace,
    HTTP_HOST: "127.0.0.1",
    PORT: "0",
    OPERATIONS_PORT: "0",
    LOG_LEVEL: "error",
    ...KEYS,
    AUTH_JWT_SECRET: JWT_SECRET,
    AUTH_ISSUER: DEVELOPMENT_ISSUER,
    AUTH_AUDIENCE: DEVELOPMENT_AUDIENCE,
    ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8,::1/128",
    EXTRA_CA_FILE: caFile,
    // Tests look more often than people do.
    READS_PER_MINUTE: "1000000",
  };
}
