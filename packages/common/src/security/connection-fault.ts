import { virtualHostOf } from "@herald/amqp";

/** A fault between this process and a server, for the person who can repair it. */
export interface Explanation {
  what: string;
  remedy: string;
}

/** How to recognize an error by its code, call and words; what it means, and what to do. `{...}` is filled in by `explain`. The first matching row wins. */
export type Row = readonly [error: RegExp, what: string, remedy: string];

/** A server that Herald connects to, in the words of its operator. */
export interface Server {
  /** "PostgreSQL" */
  name: string;
  /** The setting that says where it is, and the one that names the file of its certificate authorities. */
  urlSetting: string;
  caSetting: string;
  rows: readonly Row[];
  /** For an error that no row knows. */
  other: readonly [what: string, remedy: string];
}

/** pg gives the error of a server that refuses TLS no code. */
export const NO_TLS_CODE = "ERR_NO_TLS";

const AUTHORITY =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE) /;

const TLS: readonly Row[] = [
  [
    AUTHORITY,
    "{name}'s certificate is from an authority that is not trusted here{code}.",
    "Put the certificate of that authority into the PEM file that {ca} names, which running services read again by themselves; if {ca} is not set, set it.",
  ],
  [
    /^ERR_SSL_\S*ALERT\S*_(CERTIFICATE\S*|UNKNOWN_CA) /,
    "{name} does not take the certificate that this process shows, or misses one{code}.",
    "For PostgreSQL, renew the files of sslcert and sslkey in {url}, which running services read again by themselves, or have it trust their authority. No other server may ask for one.",
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID /,
    "{name}'s certificate is for {certified}, and not for {asked}.",
    "Write a name of the certificate into {url}, or give the server a certificate for this one.",
  ],
  [
    /^CERT_HAS_EXPIRED /,
    "{name}'s certificate, or that of its authority, has expired.",
    "Renew it on the server. If it is still valid, this machine's clock is wrong.",
  ],
  [
    /^CERT_NOT_YET_VALID /,
    "{name}'s certificate, or that of its authority, is not valid yet.",
    "Compare the clocks of both machines.",
  ],
  [
    // OpenSSL's codes for an answer that is no TLS, and pg's words.
    /^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|ERR_NO_TLS) |^ +The server does not support SSL connections/,
    "{name} does not speak TLS at this port.",
    "Switch TLS on there, or name the port that has it in {url}. Without TLS, {ca} has to be absent.",
  ],
];

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
      "Name its certificate authority by DATABASE_CA_FILE, or add sslmode=verify-full to DATABASE_URL if a public one vouches for it.",
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
      "Raise max_connections, the user's limit or the database's, or lower DATABASE_POOL_SIZE.",
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
      /Handshake.*ACCESS[-_]REFUSED/,
      "RabbitMQ at {host} refuses this user.",
      "Correct user and password in AMQP_URL (special characters percent-encoded). The user guest is for the broker's own machine only.",
    ],
    [
      // amqplib does not pass on RabbitMQ's reason for refusing a virtual host.
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

export const KEY_SERVER: Server = {
  name: "the key server",
  urlSetting: "AUTH_JWKS_URL",
  caSetting: "NODE_EXTRA_CA_CERTS",
  rows: [],
  other: ["{name} at {host} can't be used: {reason}.", "Correct {url}, or open the way to it: port 443."],
};

/** An error by its code, call and words, as rows read it. */
function said(error: unknown): string {
  const { code = "", syscall = "" } = (error ?? {}) as { code?: string; syscall?: string };
  return `${code} ${syscall} ${reasonOf(error)}`;
}

export function isTlsFault(error: unknown): boolean {
  return TLS.some(([pattern]) => pattern.test(said(error)));
}

/** Whether a server refuses the user, or has no such database or virtual host. amqplib does not pass on why a virtual host is refused. */
export function isRefused(error: unknown): boolean {
  return /^(28P01|28000|3D000) |Handshake.*ACCESS[-_]REFUSED|Expected ConnectionOpenOk/.test(said(error));
}

/** Why a server takes no connection, and what to do. @param url where it is: its credentials are not shown */
export function explain(error: unknown, server: Server, url: string): Explanation {
  const words = said(error);
  const rows = [...TLS, ...server.rows, ...NETWORK, [/^/, ...server.other] as const];
  const [, what, remedy] = rows.find(([pattern]) => pattern.test(words)) as Row;
  const {
    host: asked = "this host",
    cert,
    code,
  } = (error ?? {}) as {
    host?: string;
    cert?: { subjectaltname?: string };
    code?: string;
  };
  const known: Record<string, string> = {
    name: server.name,
    url: server.urlSetting,
    ca: server.caSetting,
    host: hostOf(url),
    vhost: URL.canParse(url) ? virtualHostOf(url) : "/",
    reason: reasonOf(error),
    code: code ? ` (${code})` : "",
    asked,
    certified: cert?.subjectaltname ?? "other names",
  };
  const filled = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? "");
  // A server's name begins with "the" if it is not a product's.
  return { what: filled(what).replace(/^the /, "The "), remedy: filled(remedy) };
}

/** The last line of an error, where Prisma puts the cause. Node's own errors may have a code and no message. */
export function reasonOf(error: unknown): string {
  const { message, code } = (error ?? {}) as { message?: string; code?: string };
  return message?.trim().split("\n").at(-1) || code || String(error);
}

/** Where a URL points, without its credentials. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an address that is no URL";
}
