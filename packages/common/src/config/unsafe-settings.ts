import pg from "pg";
import { contains, isWiderThanAnyPrivate, type Networks, overlap, parseNetworks } from "../security/networks.ts";

/** Settings by their names, as far as a program reads them. */
export type SettingValues = Readonly<Record<string, unknown>>;

/** What is unsafe about a value, and what to do; undefined where it is safe. It never holds a secret. */
type Judge = (value: string, settings: SettingValues) => string | undefined;

/** HS256 wants a key that is as long as its hash (RFC 7518, section 3.2). */
const SECRET_BYTES = 32;
/** Of 32 random bytes, fewer are distinct once in 10^15 times. */
const DISTINCT_BYTES = 16;

const database: readonly Judge[] = [
  guessableLogin,
  openDatabaseLogin,
  (url, settings) => plaintextDatabase(url, settings, "DATABASE_CA_FILE"),
];

/** The checks for values that production refuses, by the setting that an operator would change. */
const RULES: Readonly<Record<string, readonly Judge[]>> = {
  DATABASE_URL: database,
  OUTBOX_DATABASE_URL: [guessableLogin, openDatabaseLogin, (url, settings) => plaintextDatabase(url, settings)],
  AMQP_URL: [guessableLogin, namelessLogin, plaintextAmqp],
  SECRET_KEYS: [trivialKeys],
  AUTH_JWT_SECRET: [weakSecret, anybodysTokens],
  AUTH_JWKS_URL: [replaceableKeys],
  PUBLIC_ORIGIN: [plaintextPage],
  PAGE_FRAME_ANCESTORS: [anybodysFrame],
  ALLOWED_PRIVATE_NETWORKS: [openGuard, openMachine],
};

/** Every setting that is checked, or that the check of another setting reads. */
export const JUDGED_SETTINGS: readonly string[] = [
  ...Object.keys(RULES),
  ...["DATABASE_CA_FILE", "AUTH_ISSUER", "AUTH_AUDIENCE", "DENIED_NETWORKS"],
];

/**
 * What of these settings production must not run with: a sentence for each fault, which names the setting and says what to do. Values
 * that can't be read at all are left to the code that reads them.
 */
export function unsafeSettings(settings: SettingValues): string[] {
  return Object.entries(RULES).flatMap(([setting, judges]) => {
    const value = settings[setting];
    if (value === undefined || value === "") return [];
    const problems = judges.flatMap((judge) => judge(String(value), settings) ?? []);
    return problems.map((problem) => `${setting} is not safe with HERALD_ENV=production: ${problem}`);
  });
}

/** Passwords that attackers try first. */
const USUAL_PASSWORDS: ReadonlySet<string> = new Set(
  (
    "admin administrator change-me change_me changeit changeme default guest herald letmein pass passw0rd password " +
    "postgres postgresql qwerty rabbitmq root secret test welcome 123456 12345678"
  )
    .split(" ")
    .flatMap((word) => [word, `${word}1`, `${word}123`]),
);

function guessableLogin(text: string): string | undefined {
  const login = loginOf(text);
  if (login === undefined || login.user === "") return undefined;
  if (login.user === login.password) return "its password is the user's name. Give the user a random one.";
  if (!USUAL_PASSWORDS.has(login.password.toLowerCase())) return undefined;
  return "its password is one that everybody tries first. Give the user a random one.";
}

function openDatabaseLogin(text: string): string | undefined {
  const server = postgresOf(text);
  if (server === undefined || isThisMachine(server.host) || server.password !== "" || server.hasClientKey) {
    return undefined;
  }
  return "it has no password, so whoever reaches the server gets in. Give the user a random one, or a certificate (sslcert and sslkey).";
}

function namelessLogin(text: string): string | undefined {
  const url = urlOf(text);
  if (url === undefined || url.username !== "" || url.password !== "") return undefined;
  return "without a user in it, RabbitMQ is asked as guest, whose password everybody knows. Name a user of Herald's own.";
}

function plaintextAmqp(text: string, settings: SettingValues): string | undefined {
  const url = urlOf(text);
  if (url === undefined || url.protocol !== "amqp:") return undefined;
  if (isThisMachine(url.hostname) || isAllowedPlaintext("amqp", settings)) return undefined;
  return "what it carries can be read and changed on the way. Write amqps://, or ALLOW_PLAINTEXT=amqp where the network is yours alone.";
}

function plaintextDatabase(text: string, settings: SettingValues, caSetting?: string): string | undefined {
  if (caSetting !== undefined && settings[caSetting]) return undefined;
  const server = postgresOf(text);
  if (server === undefined || server.isChecked) return undefined;
  if (isThisMachine(server.host) || isAllowedPlaintext("postgres", settings)) return undefined;
  const file = caSetting === undefined ? "" : ` or set ${caSetting},`;
  return `what it carries can be read and changed on the way. Add sslmode=verify-full to it,${file} or write ALLOW_PLAINTEXT=postgres where the network is yours alone.`;
}

interface PostgresServer {
  host: string;
  user: string;
  password: string;
  /** Whether pg takes no other server for this one. */
  isChecked: boolean;
  hasClientKey: boolean;
}

/**
 * What pg makes of a URL, with the environment variables that it reads besides. It is asked, since the text is no witness: of two
 * values of sslmode pg takes the last, and with `uselibpqcompat=true` it checks nothing for `require`.
 */
function postgresOf(text: string): PostgresServer | undefined {
  try {
    const { host, user, password, ssl } = new pg.Client({ connectionString: text });
    const options: unknown = ssl;
    const tls = typeof options === "object" && options !== null ? (options as Record<string, unknown>) : undefined;
    return {
      host,
      user: user ?? "",
      password: password ?? "",
      isChecked: options === true || (tls !== undefined && tls.rejectUnauthorized !== false),
      hasClientKey: tls?.key !== undefined,
    };
  } catch {
    return undefined;
  }
}

/** The user and password of a URL; of one for PostgreSQL, those that pg takes. */
function loginOf(text: string): { user: string; password: string } | undefined {
  if (/^postgres(ql)?:/i.test(text)) return postgresOf(text);
  const url = urlOf(text);
  return url && { user: decoded(url.username), password: decoded(url.password) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function trivialKeys(ring: string): string | undefined {
  const trivial = ring.split(",").flatMap((pair) => {
    const [id, key] = pair.trim().split(":");
    // The key itself ends its DER.
    const bytes = Buffer.from(key ?? "", "base64").subarray(-SECRET_BYTES);
    return bytes.length === SECRET_BYTES && isTrivial(bytes) ? [id] : [];
  });
  if (trivial.length === 0) return undefined;
  return `the keys of these ids are not random: ${trivial.join(", ")}. Make a pair with herald keys make, and rotate to it.`;
}

function weakSecret(secret: string): string | undefined {
  const bytes = /^([0-9a-f]{2})+$/i.test(secret) ? Buffer.from(secret, "hex") : Buffer.from(secret);
  if (bytes.length >= SECRET_BYTES && !isTrivial(bytes)) return undefined;
  return "it is short, or not random. Make one with openssl rand -base64 32, or use AUTH_JWKS_URL of your identity provider.";
}

function anybodysTokens(_secret: string, settings: SettingValues): string | undefined {
  const missing = ["AUTH_ISSUER", "AUTH_AUDIENCE"].filter((name) => !settings[name]);
  if (missing.length === 0) return undefined;
  return `tokens that were made with it for other applications would be accepted. Set ${missing.join(" and ")}.`;
}

function replaceableKeys(text: string): string | undefined {
  if (!isPlainHttp(text)) return undefined;
  return "whoever is on the way can put keys of their own into the answer, and sign tokens for every organization. Write https://.";
}

function plaintextPage(text: string): string | undefined {
  if (!isPlainHttp(text)) return undefined;
  return "whoever is on the way can read the admins' tokens and change the page. Put TLS in front, and write https://.";
}

function anybodysFrame(text: string): string | undefined {
  const unsafe = text.split(" ").filter((origin) => origin.includes("*") || isPlainHttp(origin));
  if (unsafe.length === 0) return undefined;
  return `any page of ${unsafe.join(", ")}, or whoever is on the way to it, could show the admin page in a frame and lead an admin's clicks. Name origins with https:// and without *.`;
}

function openGuard(text: string): string | undefined {
  try {
    const wide = parseNetworks("ALLOWED_PRIVATE_NETWORKS", text).filter(isWiderThanAnyPrivate);
    if (wide.length === 0) return undefined;
    const shown = wide.map(([network, bits]) => `${network}/${bits}`).join(", ");
    return `${shown} opens far more than a private network, as the inside of your cloud. Name the networks that receivers are in.`;
  } catch {
    return undefined;
  }
}

/** Addresses where no receiver is: the machine itself, its link, and the clouds' endpoints that give machines their credentials. */
const OF_THE_MACHINE: Networks = parseNetworks(
  "its own",
  "0.0.0.0/8,127.0.0.0/8,169.254.0.0/16,::/127,fe80::/10,100.100.100.200,168.63.129.16,192.0.0.192,fd00:ec2::/32,fd20:ce::254",
);

function openMachine(text: string, { DENIED_NETWORKS }: SettingValues): string | undefined {
  try {
    const allowed = parseNetworks("ALLOWED_PRIVATE_NETWORKS", text).filter((each) => !isWiderThanAnyPrivate(each));
    const denied = parseNetworks("DENIED_NETWORKS", typeof DENIED_NETWORKS === "string" ? DENIED_NETWORKS : "");
    const isDenied = ([first, bits]: Networks[number]) =>
      contains(
        denied.filter(([, deniedBits]) => deniedBits <= bits),
        first,
      );
    const open = allowed.filter((network) =>
      OF_THE_MACHINE.some((own) => overlap(network, own) && !isDenied(own) && !isDenied(network)),
    );
    if (open.length === 0) return undefined;
    const shown = open.map(([network, bits]) => `${network}/${bits}`).join(", ");
    return `${shown} opens the dispatcher's own machine, or where a cloud hands out its credentials. Name the networks that receivers are in, or deny those within them by DENIED_NETWORKS.`;
  } catch {
    return undefined;
  }
}

function isTrivial(bytes: Uint8Array): boolean {
  return new Set(bytes).size < DISTINCT_BYTES;
}

function isAllowedPlaintext(protocol: string, { ALLOW_PLAINTEXT }: SettingValues): boolean {
  return typeof ALLOW_PLAINTEXT === "string" && ALLOW_PLAINTEXT.split(",").includes(protocol);
}

function isPlainHttp(text: string): boolean {
  const url = urlOf(text);
  return url === undefined || (url.protocol !== "https:" && !isThisMachine(url.hostname));
}

/** Names and addresses by which a machine reaches itself, and sockets in its file system. */
function isThisMachine(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|\[?::1\]?|localhost|(\/|%2F).*|)$/i.test(host);
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
