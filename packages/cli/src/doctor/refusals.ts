import { explainTlsFailure } from "@herald/common/security/server-certificate";
import { reasonOf } from "../connections.ts";
import { type Finding, fault } from "./finding.ts";

/**
 * An error by its code, call and words; what it says of the server, and what to do. `{...}` stands for what `refusal` knows. The first
 * row that fits counts.
 */
type Row = readonly [error: RegExp, what: string, remedy: string];

interface Server {
  name: string;
  /** The setting that says where it is, and the one that names the authorities of its certificate. */
  urlSetting: string;
  caSetting: string;
  rows: readonly Row[];
  /** For an error that no row knows. */
  other: readonly [what: string, remedy: string];
}

const NETWORK: readonly Row[] = [
  [
    /^(ENOTFOUND|EAI_AGAIN) /,
    "The name of {name}'s host, {host}, is not known here.",
    "Correct it in {url}; else ask the name server from here: getent hosts NAME",
  ],
  [
    /^ECONNREFUSED /,
    "Nothing listens at {host}, where {name} should be.",
    "Start {name}, or correct host and port in {url}.",
  ],
  [
    /^(EHOSTUNREACH|ENETUNREACH) |timeout|ETIMEDOUT/i,
    "{name} at {host} does not answer{code}.",
    "Open the way to it (firewall, security group, network policy, route); else see whether it is overloaded.",
  ],
];

const takesNone = "{name} at {host} takes no connection: {reason}.";

export const POSTGRES: Server = {
  name: "PostgreSQL",
  urlSetting: "DATABASE_URL",
  caSetting: "DATABASE_CA_FILE",
  rows: [
    [
      /^28000 .*(no encryption|SSL off)/,
      "PostgreSQL at {host} asks for TLS.",
      "Name its certificate authority by DATABASE_CA_FILE, or add sslmode=verify-full to DATABASE_URL where a public one vouches for it.",
    ],
    [
      /^(28P01|28000) /,
      "PostgreSQL at {host} refuses this user: {reason}.",
      "Correct user and password in DATABASE_URL (special characters percent-encoded), or the user's line in pg_hba.conf.",
    ],
    [/^3D000 /, "PostgreSQL at {host} says: {reason}.", "Create the database, or correct its name in DATABASE_URL."],
    [
      /^53300 /,
      "PostgreSQL at {host} has no connection left: {reason}.",
      "Raise max_connections or the user's limit, or lower DATABASE_POOL_SIZE.",
    ],
    [
      /startup parameter/,
      "A pooler stands before PostgreSQL at {host}, and refuses what DATABASE_URL asks for at the start: {reason}.",
      "Remove it from DATABASE_URL: Herald needs no parameter beyond the standard ones.",
    ],
  ],
  other: [takesNone, "Look for this message in the server's log."],
};

export const BROKER: Server = {
  name: "RabbitMQ",
  urlSetting: "AMQP_URL",
  caSetting: "AMQP_CA_FILE",
  rows: [
    [
      /ACCESS[-_]REFUSED/,
      "RabbitMQ at {host} refuses this user.",
      "Correct user and password in AMQP_URL (special characters percent-encoded). The user guest is for the broker's own machine only.",
    ],
    [
      // What RabbitMQ says of a virtual host, amqplib keeps to itself.
      /Expected ConnectionOpenOk/,
      "RabbitMQ at {host} refuses the virtual host {vhost}: there is none of this name, the user has no rights in it, or a limit of " +
        "connections is reached.",
      "Correct the virtual host in AMQP_URL (its path; / is written %2f), create it, or give the user rights in it. Limits: " +
        "rabbitmqctl list_vhost_limits --vhost {vhost} and rabbitmqctl list_user_limits --user USER",
    ],
    [
      /abruptly|ECONNRESET/,
      "What listens at {host} ends the connection at once.",
      "Name RabbitMQ's AMQP port in AMQP_URL: often 5672, or 5671 with amqps:// for TLS.",
    ],
  ],
  other: [takesNone, "Look for this message in the broker's log."],
};

const notReached = [
  "{name} at {host} can't be reached: {reason}.",
  "Correct {url}, or open the way to it: port 443.",
] as const;

export const KEY_SERVER: Server = {
  name: "the key server",
  urlSetting: "AUTH_JWKS_URL",
  caSetting: "NODE_EXTRA_CA_CERTS",
  rows: [],
  other: notReached,
};

export const RECEIVER: Server = {
  name: "the receiver",
  urlSetting: "--url",
  caSetting: "EXTRA_CA_FILE",
  rows: [
    [
      /^ERR_ADDRESS_NOT_ALLOWED /,
      "{host} has an address that is not public, or that DENIED_NETWORKS closes, and Herald sends nothing there.",
      "Name a public receiver. For development, ALLOWED_PRIVATE_NETWORKS opens networks of your own.",
    ],
    [
      // What c-ares says where a name server can't be asked, or can't answer.
      /^(ETIMEOUT|ESERVFAIL|EREFUSED|ECONNREFUSED|ECANCELLED|EBADRESP) query/,
      "The name servers do not say where {host} is{code}.",
      "Open UDP and TCP port 53 to the name servers of this machine, or name others by DNS_SERVERS.",
    ],
    [
      /^ERR_EGRESS_PROXY /,
      "The egress proxy makes no way to {host}.",
      "Correct EGRESS_PROXY_URL, its user and its password, and have the proxy allow CONNECT to public addresses at any port.",
    ],
    [/^ENODATA /, "The name {host} has no address.", "Correct the URL that --url names."],
  ],
  other: notReached,
};

/** Why a server at `host` takes no connection, and what to do. */
export function refusal(error: unknown, server: Server, host: string, vhost = ""): Finding {
  const tls = explainTlsFailure(error, server);
  if (tls) return fault(capitalized(tls.what), tls.remedy);
  const { code = "", syscall = "" } = error as { code?: string; syscall?: string };
  const reason = reasonOf(error);
  const said = `${code} ${syscall} ${reason}`;
  const [, what, remedy] = [...server.rows, ...NETWORK, [/^/, ...server.other] as const].find(([pattern]) =>
    pattern.test(said),
  ) as Row;
  const known: Record<string, string> = {
    ...{ name: server.name, url: server.urlSetting, host, vhost, reason },
    code: code && ` (${code})`,
  };
  const filled = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? "");
  return fault(capitalized(filled(what)), filled(remedy));
}

/** A server's name begins with "the" where it is not a product's. */
function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
