import type { Setting, Settings } from "@herald/common/config/settings";

/** A setting, and the services that read it. */
export interface KnownSetting {
  name: string;
  setting: Setting;
  services: string[];
}

/**
 * The settings of all services, each once, in the order of the services. The first service that has a setting says what it means.
 * @throws where two services disagree about a setting in more than its description
 */
export function knownSettings(services: Readonly<Record<string, Settings>>): KnownSetting[] {
  const known = new Map<string, KnownSetting>();
  for (const [service, settings] of Object.entries(services)) {
    for (const [name, setting] of Object.entries(settings)) {
      const same = known.get(name);
      if (!same) known.set(name, { name, setting, services: [service] });
      else if (schemaOf(same.setting) === schemaOf(setting)) same.services.push(service);
      else throw new Error(`${name} is not the same for ${same.services.join(", ")} and ${service}.`);
    }
  }
  return [...known.values()];
}

function schemaOf({ description: _description, ...schema }: Setting): string {
  return JSON.stringify(Object.entries(schema).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `docs/configuration.md` */
export function configurationDocument(
  settings: readonly KnownSetting[],
  allServices: readonly string[],
  settingsOfRelay: readonly KnownSetting[],
): string {
  const ofAll = settings.filter(({ services }) => services.length === allServices.length);
  const ofSome = settings.filter(({ services }) => services.length > 1 && services.length < allServices.length);
  const sections = [
    `## All services\n\n${table(ofAll)}`,
    `## Several services\n\n[Which](operating/deploy.md#on-machines-without-containers).\n\n${table(ofSome)}`,
    ...allServices.map((service) => {
      const own = settings.filter(({ services }) => services.length === 1 && services[0] === service);
      return `## ${service}\n\n${table(own)}`;
    }),
    `## herald relay\n\n${RELAY_HEAD}\n\n${table(settingsOfRelay)}`,
  ];
  return `${CONFIGURATION_HEAD}\n${sections.join("\n\n")}\n`;
}

/** What each service needs, which secrets it may have beside, and which settings it reads that not all services read. */
export function servicesTable(settings: readonly KnownSetting[], services: readonly string[]): string {
  const rows = services.map((service) => {
    const own = settings.filter(({ services: readers }) => readers.includes(service));
    const namesOf = (some: readonly KnownSetting[]) => some.map(({ name }) => `\`${name}\``).join(", ");
    const needed = own.filter(({ setting }) => setting.required);
    const secrets = own.filter(({ setting }) => setting.secret && !setting.required);
    const others = own.filter(
      (each) => each.services.length < services.length && !needed.includes(each) && !secrets.includes(each),
    );
    return `| ${service} | ${namesOf(needed)} | ${namesOf(secrets)} | ${namesOf(others)} |`;
  });
  return ["| service | needs | secrets, if used | may have |", "|---|---|---|---|", ...rows].join("\n");
}

const CONFIGURATION_HEAD = `# Configuration

Environment variables configure the services, and nothing else does. A service checks all of its variables when it starts: it lists
every problem at once and exits 78. An empty variable counts as absent.

A secret can also come from a file: \`DATABASE_URL_FILE=/run/secrets/database-url\` instead of \`DATABASE_URL\`. This holds for every
setting that is marked as a secret below, and for \`SECRET_SEALING_KEY\`. No log and no error shows a secret.

With \`HERALD_ENV=production\`, which is the default, a program does not start with unsafe settings: signing keys over http, guessable secrets and
passwords, sign-in links, and a page without TLS. Servers on another machine need checked TLS, unless \`ALLOW_PLAINTEXT\` allows it.

The management API also needs \`PUBLIC_ORIGIN\` in production, and, with \`AUTH_ISSUER\` and \`AUTH_AUDIENCE\`, a key that verifies tokens:
\`AUTH_JWKS_URL\`, \`AUTH_PUBLIC_KEY\`, or for development \`AUTH_JWT_SECRET\`.

A setting that is marked **alike** must have the same value in all processes that read it. They compare their values, of files of certificate
authorities the content, and report a difference by the log, \`herald doctor\` and the alert \`HeraldProcessesDiffer\`.

\`MEMORY_MIB\` bounds a process's events, bodies, attempts and connections ([memory.ts](../packages/common/src/service/memory.ts)).
Half of it, a third in a publisher, bounds V8's heap (\`--max-old-space-size\`), a 32nd, at least 8 MiB, is for new objects (\`--max-semi-space-size\`).
Node's own arguments, or \`NODE_OPTIONS\`, take precedence if they give the first of the two.
The allocator of glibc gets \`MALLOC_ARENA_MAX=2\` and \`MALLOC_TRIM_THRESHOLD_=131072\`, unless the environment has them.

\`herald serve\` reads the settings of all three services. \`DATABASE_POOL_SIZE\` is then the size of their shared pool.

The \`herald\` command reads \`DATABASE_URL\`, \`AMQP_URL\`, \`BROKER_NAMESPACE\`, \`SECRET_KEYS\`, \`SECRET_SEALING_KEY\`,
\`HERALD_ENV\` and \`ALLOW_PLAINTEXT\`, if the command needs them.
`;

const RELAY_HEAD = `[It](emitting-events.md#the-outbox) also reads
\`AMQP_URL\`, \`AMQP_CA_FILE\`, \`BROKER_NAMESPACE\`, \`HTTP_HOST\`, \`OPERATIONS_PORT\`, \`LOG_LEVEL\`, \`HERALD_ENV\` and \`ALLOW_PLAINTEXT\`, as services do.`;

function table(settings: readonly KnownSetting[]): string {
  const heads = ["setting", "value", "default", "meaning"];
  const rows = settings.map(({ name, setting }) => [
    `\`${name}\``,
    valuesOf(setting),
    defaultOf(setting),
    [setting.description, setting.secret && "Secret.", setting.shared && "**Alike.**"].filter(Boolean).join(" "),
  ]);
  return [heads, heads.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
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
