import type { Setting } from "@herald/common/config/settings";
import type { KnownSetting } from "./configuration/known-settings.ts";

/** `docs/configuration.md` */
export function configurationDocument(settings: readonly KnownSetting[], allServices: readonly string[]): string {
  const ofAll = settings.filter(({ services }) => services.length === allServices.length);
  const ofSome = settings.filter(({ services }) => services.length > 1 && services.length < allServices.length);
  const sections = [
    `## All services\n\n${table(ofAll, false)}`,
    `## Several services\n\nWhere these differ between the services, the page says one thing and Herald does another: set them for all alike.\n\n${table(ofSome, true)}`,
    ...allServices.map((service) => {
      const own = settings.filter(({ services }) => services.length === 1 && services[0] === service);
      return `## ${service}\n\n${table(own, false)}`;
    }),
  ];
  return `${HEAD}\n${sections.join("\n\n")}\n`;
}

const HEAD = `# Configuration

The services are configured by environment variables, and by nothing else. Each checks all of them when it starts: it lists every
problem at once and exits 78. An empty variable counts as absent. \`.env.example\` has all of them with their defaults.

A secret can also come from a file: \`DATABASE_URL_FILE=/run/secrets/database-url\` instead of \`DATABASE_URL\`. That goes for every
setting that is marked as a secret below. Secrets appear in no log and no error.

Besides the required ones, the management API needs a key to verify tokens with: one of \`AUTH_JWKS_URL\` and \`AUTH_PUBLIC_KEY\`, with
\`AUTH_ISSUER\` and \`AUTH_AUDIENCE\`, or for development \`AUTH_JWT_SECRET\`.

The \`herald\` command reads \`DATABASE_URL\`, \`AMQP_URL\`, \`BROKER_NAMESPACE\` and \`SECRET_KEYS\`, as far as a command needs them.

This document is made of the services' own schemas: \`pnpm reference\` writes it.
`;

function table(settings: readonly KnownSetting[], withServices: boolean): string {
  const heads = ["setting", "value", "default", ...(withServices ? ["read by"] : []), "meaning"];
  const rows = settings.map(({ name, setting, services }) => [
    `\`${name}\``,
    valuesOf(setting),
    defaultOf(setting),
    ...(withServices ? [services.join(", ")] : []),
    meaningOf(setting),
  ]);
  return [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.map(escaped).join(" | ")} |`).join("\n");
}

function valuesOf({ type, enum: allowed, minimum, maximum, minLength }: Setting): string {
  if (allowed) return allowed.map((value) => `\`${value}\``).join(", ");
  if (type === "boolean") return "`true`, `false`";
  if (type === "string") return minLength && minLength > 1 ? `text, ${minLength} characters or more` : "text";
  const kind = type === "integer" ? "whole number" : "number";
  if (minimum === undefined) return kind;
  return maximum === undefined ? `${kind}, ${minimum} or more` : `${kind}, ${minimum} to ${maximum}`;
}

function defaultOf({ default: value, required }: Setting): string {
  if (required) return "**required**";
  return value === undefined || value === "" ? "" : `\`${value}\``;
}

function meaningOf({ description, secret }: Setting): string {
  return secret ? `${description} Secret.` : description;
}

function escaped(text: string): string {
  return text.replaceAll("|", "\\|");
}
