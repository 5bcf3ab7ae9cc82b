import { readCatalogue } from "@herald/common/config/event-types";
import { readSetting } from "@herald/common/config/read-config";
import type { Database } from "@herald/common/database/open-database";
import type { Clock } from "@herald/common/runtime/clock";
import { addressRules } from "@herald/common/security/address-guard";
import { secretSealer } from "@herald/common/security/secret-box";
import type { Log } from "@herald/common/telemetry/log";
import type { Registry } from "@herald/common/telemetry/metrics";
import type { Tracing } from "@herald/common/telemetry/tracing";
import { apiSchemas } from "@herald/contracts/schemas";
import express, { type Express } from "express";
import { v7 } from "uuid";
import { administrationRoutes } from "./administration/page.ts";
import { authenticator } from "./authentication/authenticate.ts";
import { tokenVerifier } from "./authentication/verify-token.ts";
import { limitsOf, type ManagementApiConfig } from "./config.ts";
import type { TellOwner } from "./endpoints/tell-owner.ts";
import { createHandlers } from "./handlers.ts";
import { errorHandler } from "./http/error-handler.ts";
import { compressReads, dateHeader, observe, securityHeaders } from "./http/middleware.ts";
import { apiRouter } from "./http/router.ts";
import { connectionLimits } from "./limits/connection-limits.ts";
import { rateLimits } from "./limits/rate-limits.ts";
import { openApiDocument } from "./openapi/document.ts";
import { openApiRoutes, schemaRoutes } from "./openapi/published.ts";
import { API_PREFIX } from "./operations.ts";
import type { Parts } from "./parts.ts";
import { ProblemError } from "./problems/problem-error.ts";
import { apiFormats } from "./validation/formats.ts";
import { apiValidator } from "./validation/validator.ts";

export interface AppParts {
  config: ManagementApiConfig;
  database: Database;
  tellOwner: TellOwner;
  manualWait: Parts["manualWait"];
  clock: Clock;
  log: Log;
  registry: Registry;
  tracing?: Tracing | undefined;
  /** How many processes of this API share an organization's allowances. */
  processes: () => number;
  /** Where the built admin page is; that of this checkout if absent. */
  pageFolder?: string | undefined;
}

/** None of the reads takes PostgreSQL so long, unless it is overloaded: then each that it gives up leaves more for the rest. */
const READ_TIMEOUT_MS = 5_000;

/** A path that may be meant without the slash at its end, made of segments that can't turn into another host. */
const A_SLASH_TOO_MANY = /^(\/[\w.~-]+)+\/$/;

/** The HTTP API as an express app, without a port. @throws ConfigError if a setting can't be read */
export function createApp(parts: AppParts): Express {
  const { config, database, tellOwner, manualWait, clock, log, registry, tracing, processes, pageFolder } = parts;
  const addresses = addressRules(config);
  const secrets = readSetting("SECRET_SEALING_KEY", () => secretSealer(config.SECRET_SEALING_KEY));
  const catalogue = readCatalogue(config);
  const limits = limitsOf(config);
  const connections = connectionLimits(config.DATABASE_POOL_SIZE);
  const verifyToken = tokenVerifier(config, clock, log);

  const app = express();
  app.disable("x-powered-by");
  // A rule of a gateway in front, which compares paths exactly, must not be walked round by writing one in another case.
  app.enable("case sensitive routing");
  // The answers are small, and pages poll them: a hash of each, for a 304, would cost more than it saves.
  app.disable("etag");
  const traced = tracing && {
    tracing,
    apiPath: config.BASE_PATH + API_PREFIX,
    scheme: config.PUBLIC_ORIGIN?.startsWith("https:") ? "https" : "http",
  };
  app.use(observe(log, registry, traced), dateHeader(clock), securityHeaders(config.PUBLIC_ORIGIN));
  app.use(
    config.BASE_PATH + API_PREFIX,
    compressReads,
    apiRouter({
      authenticate: authenticator(config, verifyToken),
      rateLimits: rateLimits(
        {
          reads: config.READS_PER_MINUTE,
          writes: config.WRITES_PER_MINUTE,
          manualDeliveries: config.MANUAL_DELIVERIES_PER_MINUTE,
        },
        processes,
      ),
      connections,
      validator: apiValidator(apiSchemas(limits, catalogue), apiFormats(limits, addresses, config.HEADER_PREFIX)),
      handlers: createHandlers(
        {
          ...{ config, secrets, tellOwner, manualWait, clock },
          ...{ prisma: database.prisma, queries: database.queries, reads: database.readsWithin(READ_TIMEOUT_MS) },
          ...{ writeLimiter: connections.writes, newId: idSource(clock) },
        },
        catalogue,
      ),
      limits,
    }),
  );
  const document = openApiDocument({
    limits,
    catalogue,
    basePath: config.BASE_PATH,
    cookieName: config.AUTH_COOKIE_NAME,
    headers: { headerPrefix: config.HEADER_PREFIX, standardWebhooks: config.STANDARD_WEBHOOKS },
  });
  app.use(
    config.BASE_PATH,
    openApiRoutes(document),
    schemaRoutes(catalogue),
    administrationRoutes(config, verifyToken, pageFolder),
  );
  app.use((request, response) => {
    if (!A_SLASH_TOO_MANY.test(request.path)) throw new ProblemError("route_not_found");
    const [path = "", query = ""] = request.originalUrl.split(/(?=\?)/);
    response.redirect(308, path.slice(0, -1) + query);
  });
  app.use(errorHandler({ log, signInUrl: config.SIGN_IN_URL }));
  return app;
}

/** Makes UUIDv7 ids in the order of the calls: by the clock, and by a counter within a millisecond. */
function idSource(clock: Clock): () => string {
  let sequence = 0;
  return () => {
    sequence = (sequence + 1) % 2 ** 32;
    return v7({ msecs: clock.now().getTime(), seq: sequence });
  };
}
