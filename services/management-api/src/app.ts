import type { PrismaClient } from "@herald/common/database";
import type { Clock } from "@herald/common/runtime";
import { type PrivateNetworks, parsePrivateNetworks, secretBox } from "@herald/common/security";
import type { Log, Registry } from "@herald/common/telemetry";
import express, { type Express } from "express";
import { authenticator } from "./authentication/authenticate.ts";
import { tokenVerifier } from "./authentication/verify-token.ts";
import { limitsOf, type ManagementApiConfig } from "./config.ts";
import { errorHandler } from "./http/error-handler.ts";
import { securityHeaders } from "./http/headers.ts";
import { observe } from "./http/observe.ts";
import { rateLimits } from "./http/rate-limits.ts";
import { apiRouter } from "./http/router.ts";
import { idSource } from "./ids.ts";
import { API_PREFIX } from "./operations.ts";
import { ProblemError } from "./problems/problem-error.ts";
import { apiFormats } from "./validation/formats.ts";
import { apiValidator } from "./validation/validator.ts";
import { webhookHandlers } from "./webhooks/handlers.ts";

export interface AppParts {
  config: ManagementApiConfig;
  prisma: PrismaClient;
  clock: Clock;
  log: Log;
  registry: Registry;
}

/** The HTTP API as an express app, without a port. */
export function createApp({ config, prisma, clock, log, registry }: AppParts): Express {
  const networks: PrivateNetworks = parsePrivateNetworks(config.ALLOWED_PRIVATE_NETWORKS);
  const limits = limitsOf(config);
  const secrets = secretBox(config.SECRET_KEYS);
  const webhooks = { prisma, secrets, clock, newId: idSource(clock), maxEndpoints: limits.endpoints };

  const app = express();
  app.disable("x-powered-by");
  // Answers are polled, and small: hashing each for a 304 would cost more than it saves.
  app.disable("etag");
  app.use(observe({ log, registry }), securityHeaders);
  app.use(
    config.BASE_PATH + API_PREFIX,
    apiRouter({
      authenticate: authenticator(config, tokenVerifier(config, clock)),
      rateLimits: rateLimits({
        writes: config.WRITES_PER_MINUTE,
        manualDeliveries: config.MANUAL_DELIVERIES_PER_MINUTE,
      }),
      validator: apiValidator(limits, apiFormats(limits, networks)),
      handlers: { ...webhookHandlers(webhooks) },
      limits,
    }),
  );
  app.use(() => {
    throw new ProblemError("route_not_found");
  });
  app.use(errorHandler({ log, signInUrl: config.SIGN_IN_URL }));
  return app;
}
