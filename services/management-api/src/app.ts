import { ConfigError } from "@herald/common/config/read-config";
import type { Database } from "@herald/common/database/open-database";
import type { Clock } from "@herald/common/runtime/clock";
import { parsePrivateNetworks } from "@herald/common/security/private-networks";
import { secretBox } from "@herald/common/security/secret-box";
import type { Log } from "@herald/common/telemetry/log";
import type { Registry } from "@herald/common/telemetry/metrics";
import type { Hint } from "@herald/contracts";
import express, { type Express } from "express";
import { administrationRoutes } from "./administration/routes.ts";
import { authenticator } from "./authentication/authenticate.ts";
import { tokenVerifier } from "./authentication/verify-token.ts";
import { limitsOf, type ManagementApiConfig, serviceFacts } from "./config.ts";
import { deliveryHandlers } from "./deliveries/handlers.ts";
import { webhookHandlers } from "./endpoints/handlers.ts";
import { eventTypes } from "./event-types.ts";
import type { Handlers } from "./handlers.ts";
import { compressReads } from "./http/compress-reads.ts";
import { errorHandler } from "./http/error-handler.ts";
import { securityHeaders } from "./http/headers.ts";
import { createTurns } from "./http/keyed-limiter.ts";
import { observe } from "./http/observe.ts";
import { rateLimits } from "./http/rate-limits.ts";
import { apiRouter } from "./http/router.ts";
import { idSource } from "./ids.ts";
import { openApiDocument } from "./openapi/document.ts";
import { openApiRoutes } from "./openapi/routes.ts";
import { API_PREFIX } from "./operations.ts";
import { ProblemError } from "./problems/problem-error.ts";
import { sessionOf } from "./session.ts";
import { apiFormats } from "./validation/formats.ts";
import { apiValidator } from "./validation/validator.ts";

export interface AppParts {
  config: ManagementApiConfig;
  database: Pick<Database, "prisma" | "queries">;
  /** Asks a dispatcher for a manual delivery's first attempt; resolves when it has answered, or nobody has in time. */
  requestAttempt: (hint: Hint) => Promise<void>;
  clock: Clock;
  log: Log;
  registry: Registry;
}

/** How long a write waits for those of its organization that came before; a hundred creates take a second or two. */
const LONGEST_TURN_WAIT_MS = 15_000;

/**
 * The HTTP API as an express app, without a port.
 *
 * @throws ConfigError where a setting can't be read
 */
export function createApp({ config, database, requestAttempt, clock, log, registry }: AppParts): Express {
  const { prisma, queries } = database;
  const networks = checkedSetting("ALLOWED_PRIVATE_NETWORKS", () =>
    parsePrivateNetworks(config.ALLOWED_PRIVATE_NETWORKS),
  );
  const secrets = checkedSetting("SECRET_KEYS", () => secretBox(config.SECRET_KEYS));
  const limits = limitsOf(config);
  const newId = idSource(clock);
  const handlers: Handlers = {
    ...webhookHandlers({
      prisma,
      queries,
      secrets,
      clock,
      newId,
      maxEndpoints: limits.endpoints,
      windowDays: config.PUBLICATION_WINDOW_DAYS,
    }),
    ...deliveryHandlers({
      prisma,
      queries,
      clock,
      newId,
      requestAttempt,
      unhintedAfterMs: config.HINT_GRACE_SECONDS * 1_000,
      headers: { headerPrefix: config.HEADER_PREFIX, standardWebhooks: config.STANDARD_WEBHOOKS },
    }),
    readSession: async ({ caller }) => sessionOf(caller, config.AUTH_REQUIRED_MODULE, serviceFacts(config)),
    listEventTypes: async () => eventTypes,
  };

  const app = express();
  app.disable("x-powered-by");
  // Answers are polled, and small: hashing each for a 304 would cost more than it saves.
  app.disable("etag");
  app.use(observe({ log, registry }), securityHeaders, compressReads);
  const verifyToken = tokenVerifier(config, clock);
  app.use(
    config.BASE_PATH + API_PREFIX,
    apiRouter({
      authenticate: authenticator(config, verifyToken),
      rateLimits: rateLimits({
        writes: config.WRITES_PER_MINUTE,
        manualDeliveries: config.MANUAL_DELIVERIES_PER_MINUTE,
      }),
      turns: createTurns({
        atOnce: Math.max(1, Math.floor(config.DATABASE_POOL_SIZE / 3)),
        longestWaitMs: LONGEST_TURN_WAIT_MS,
      }),
      validator: apiValidator(limits, apiFormats(limits, networks)),
      handlers,
      limits,
    }),
  );
  const document = openApiDocument({ limits, basePath: config.BASE_PATH, cookieName: config.AUTH_COOKIE_NAME });
  app.use(config.BASE_PATH, openApiRoutes(document), administrationRoutes(config, verifyToken));
  app.use(() => {
    throw new ProblemError("route_not_found");
  });
  app.use(errorHandler({ log, signInUrl: config.SIGN_IN_URL }));
  return app;
}

function checkedSetting<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError([message.startsWith(name) ? message : `${name}: ${message}`]);
  }
}
