import { bucketOf, readCell } from "@herald/common/broker/cell";
import { readSetting } from "@herald/common/config/read-config";
import { addressRules } from "@herald/common/security/address-rules";
import { secretSealer } from "@herald/common/security/secret-box";
import type { Log } from "@herald/common/telemetry/log";
import type { Registry } from "@herald/common/telemetry/metrics";
import express, { type Express } from "express";
import { administrationRoutes } from "./administration/page.ts";
import { authenticator } from "./authentication/authenticate.ts";
import { tokenVerifier } from "./authentication/verify-token.ts";
import { limitsOf } from "./config.ts";
import { createHandlers, type HandlerParts, idSource } from "./handlers.ts";
import { errorHandler } from "./http/error-handler.ts";
import { createKeyedLimiter } from "./http/keyed-limiter.ts";
import { compressReads, observe, securityHeaders } from "./http/middleware.ts";
import { rateLimits } from "./http/rate-limits.ts";
import { apiRouter } from "./http/router.ts";
import { createAnswerOnce } from "./idempotency/answer-once.ts";
import { openApiDocument } from "./openapi/document.ts";
import { openApiRoutes } from "./openapi/routes.ts";
import { schemaRoutes } from "./openapi/schema-routes.ts";
import { API_PREFIX } from "./operations.ts";
import { ProblemError } from "./problems/problem-error.ts";
import { apiFormats } from "./validation/formats.ts";
import { apiValidator } from "./validation/validator.ts";

export interface AppParts extends Omit<HandlerParts, "secrets" | "writeLimiter" | "exportTurns" | "newId"> {
  log: Log;
  registry: Registry;
}

/** How long a write waits for earlier writes of its organization; a hundred creates take a second or two. */
const WRITE_WAIT = { maxWaitMs: 15_000, retryAfterS: 5 };
/** A read waits no longer than a person does. */
const READ_WAIT = { maxWaitMs: 5_000, retryAfterS: 1 };
/** Exports of one organization at once. A client that broke one off, and goes on at once, finds its place free within the wait. */
const EXPORTS = { concurrency: 2, maxWaitMs: 1_000, retryAfterS: 10 };
/** All exports of the process read by turns, over one connection; this is how long a turn is waited for. */
const EXPORT_TURNS = { concurrency: 1, maxWaitMs: 30_000, retryAfterS: 10 };

/**
 * The HTTP API as an express app, without a port.
 *
 * @throws ConfigError where a setting can't be read
 */
export function createApp({ config, database, requestAttempt, clock, log, registry }: AppParts): Express {
  const addresses = addressRules(config);
  const secrets = readSetting("SECRET_SEALING_KEY", () => secretSealer(config.SECRET_SEALING_KEY));
  const limits = limitsOf(config);
  const { buckets } = readCell(config);
  // With its reads and its writes together an organization holds two thirds of the connections.
  const concurrency = Math.max(1, Math.floor(config.DATABASE_POOL_SIZE / 3));
  const writeLimiter = createKeyedLimiter({ concurrency, ...WRITE_WAIT });
  const verifyToken = tokenVerifier(config, clock);
  const newId = idSource(clock);

  const app = express();
  app.disable("x-powered-by");
  // A rule of a gateway in front, which compares paths exactly, must not be walked round by writing one in another case.
  app.enable("case sensitive routing");
  // The answers are small, and pages poll them: a hash of each, for a 304, would cost more than it saves.
  app.disable("etag");
  app.use(observe({ log, registry }), securityHeaders(config.PUBLIC_ORIGIN), compressReads);
  app.use(
    config.BASE_PATH + API_PREFIX,
    apiRouter({
      authenticate: authenticator(config, verifyToken, (organizationId) => buckets.includes(bucketOf(organizationId))),
      rateLimits: rateLimits({
        reads: config.READS_PER_MINUTE,
        writes: config.WRITES_PER_MINUTE,
        manualDeliveries: config.MANUAL_DELIVERIES_PER_MINUTE,
      }),
      readLimiter: createKeyedLimiter({ concurrency, ...READ_WAIT }),
      writeLimiter,
      exportLimiter: createKeyedLimiter(EXPORTS),
      validator: apiValidator(limits, apiFormats(limits, addresses)),
      handlers: createHandlers({
        config,
        database,
        secrets,
        requestAttempt,
        writeLimiter,
        exportTurns: createKeyedLimiter(EXPORT_TURNS),
        newId,
        clock,
      }),
      answerOnce: createAnswerOnce({ queries: database.queries, clock, newId }),
      limits,
    }),
  );
  const document = openApiDocument({
    limits,
    basePath: config.BASE_PATH,
    cookieName: config.AUTH_COOKIE_NAME,
    headers: { headerPrefix: config.HEADER_PREFIX, standardWebhooks: config.STANDARD_WEBHOOKS },
  });
  app.use(config.BASE_PATH, openApiRoutes(document), schemaRoutes(), administrationRoutes(config, verifyToken));
  app.use(() => {
    throw new ProblemError("route_not_found");
  });
  app.use(errorHandler({ log, signInUrl: config.SIGN_IN_URL }));
  return app;
}
