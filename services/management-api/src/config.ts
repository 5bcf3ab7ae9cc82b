import { existsSync } from "node:fs";
import {
  networkSettings,
  sealingSettings,
  serviceSettings,
  sharedSettings,
} from "@herald/common/config/common-settings";
import { eventTypeSettings } from "@herald/common/config/event-types";
import { type Environment, readConfig } from "@herald/common/config/read-config";
import type { Config, Settings } from "@herald/common/config/settings";
import { type ApiLimits, DEFAULT_API_LIMITS } from "@herald/contracts";
import { originOf } from "./authentication/credentials.ts";
import { authenticationSettings, problemsOfAuthentication } from "./authentication/settings.ts";

const ownSettings = {
  PORT: {
    type: "integer",
    default: 8080,
    minimum: 0,
    maximum: 65535,
    description: "Port of the management API and the admin page.",
  },
  BASE_PATH: {
    type: "string",
    default: "",
    pattern: "^(/[A-Za-z0-9._~-]+)*$",
    description: "Path in front of every route, if a proxy passes it on: begins with a slash, ends without one.",
  },
  PUBLIC_ORIGIN: {
    type: "string",
    pattern: "^https?://[^/]+$",
    description:
      "Origin of the admin page in browsers, as https://herald.example.com. Required in production, and if a proxy changes the Host header. With https, browsers use only https for a year (HSTS).",
  },
  PAGE_FRAME_ANCESTORS: {
    type: "string",
    default: "",
    pattern: "^(https?://[^\\s;,'\"/]+( https?://[^\\s;,'\"/]+)*)?$",
    description:
      "Origins whose pages may show the admin page in a frame, with spaces between; by default none. The session's cookie is " +
      "sent only within one site, so these must be of the same site as the page: app.example.com and herald.example.com are.",
  },
  PAGE_PRODUCT_NAME: {
    type: "string",
    default: "Herald",
    pattern: "^[^\\p{C}]{1,40}$",
    description: "Name of the sending service on the admin page.",
  },
  PAGE_ACCENT_COLOR: {
    type: "string",
    pattern: "^#[0-9a-fA-F]{6}$",
    description:
      "Colour of the admin page's links and buttons, as #1a73e8. The page makes it as dark or light as can be read.",
  },
  PAGE_LOGO_FILE: {
    type: "string",
    pattern: "\\.(svg|png)$",
    description: "Picture that the admin page shows in place of Herald's, an SVG or PNG file; 22 pixels high.",
  },
  MAX_ENDPOINTS: {
    type: "integer",
    default: DEFAULT_API_LIMITS.endpoints,
    minimum: 1,
    maximum: 10_000,
    description: "Endpoints that an organization may have.",
  },
  READS_PER_MINUTE: {
    type: "integer",
    default: 12_000,
    minimum: 10,
    description:
      "Reads that an organization may make in a minute; processes of this service share it evenly. An overview, one endpoint's details, a filtered history, a search for events, an event, and lists and previews of resends count as ten each; an open page makes 400 to 800 in a minute.",
  },
  WRITES_PER_MINUTE: {
    type: "integer",
    default: 300,
    minimum: 1,
    description: "Creates, edits and deletes that an organization may make in a minute; shared likewise.",
  },
  MANUAL_DELIVERIES_PER_MINUTE: {
    type: "integer",
    default: 60,
    minimum: 1,
    description: "Manual deliveries that an organization may make in a minute; shared likewise.",
  },
} as const satisfies Settings;

/** Values that no operator needs to set, and tests do: given to {@link startManagementApi}. */
export interface ManagementApiTuning {
  /** How long a manual delivery's request waits for the first attempt. One that takes longer goes on, and the answer says attemptCount 0. */
  manualTimeoutMs: number;
}

/** For the request's way to a dispatcher, and for storing the result. */
const MANUAL_WAY_MS = 5_000;

export function manualTimeoutMs({ ATTEMPT_TIMEOUT_SECONDS }: ManagementApiConfig): number {
  return ATTEMPT_TIMEOUT_SECONDS * 1_000 + MANUAL_WAY_MS;
}

export const managementApiSettings = {
  ...serviceSettings,
  ...sealingSettings,
  ...networkSettings,
  ...authenticationSettings,
  ...ownSettings,
  ...eventTypeSettings,
  ...sharedSettings,
};

export type ManagementApiConfig = Config<typeof managementApiSettings>;

/** @throws ConfigError listing every problem */
export function readManagementApiConfig(environment: Environment = process.env): ManagementApiConfig {
  return readConfig(managementApiSettings, environment, problemsOfManagementApi);
}

export function problemsOfManagementApi(config: ManagementApiConfig): string[] {
  return [...problemsOfAuthentication(config), ...problemsOfPage(config)];
}

/** Without a public origin only the host of a request's origin can be compared, so a page of the same host over http would pass. */
function problemsOfPage({ HERALD_ENV, PUBLIC_ORIGIN, PAGE_LOGO_FILE: logo }: ManagementApiConfig): string[] {
  if (logo !== undefined && !existsSync(logo)) return [`PAGE_LOGO_FILE names a file that is not there: ${logo}`];
  if (PUBLIC_ORIGIN !== undefined && originOf(PUBLIC_ORIGIN) === null)
    return ["PUBLIC_ORIGIN has no host that can be read."];
  if (HERALD_ENV !== "production" || PUBLIC_ORIGIN !== undefined) return [];
  return [
    "PUBLIC_ORIGIN is missing: without it, a page that came over http could use an admin's session. " +
      "Set it to the admin page's origin for browsers, such as https://herald.example.com.",
  ];
}

export function limitsOf({ MAX_ENDPOINTS }: ManagementApiConfig): ApiLimits {
  return { ...DEFAULT_API_LIMITS, endpoints: MAX_ENDPOINTS };
}
