import { unescape as decoded } from "node:querystring";
import pg from "pg";

/** Settings by their names, as far as a program reads them. */
export type SettingValues = Readonly<Record<string, unknown>>;

/** Says whether a value is unsafe, or which part of it, which replaces `{}` in the sentence. The sentence never holds a secret. */
type Check = readonly [find: (value: string, settings: SettingValues) => boolean | string, sentence: string];

/** HS256 wants a key that is as long as its hash (RFC 7518, section 3.2). */
const SECRET_BYTES = 32;
/** 32 random bytes have fewer distinct ones once in 10^15 times. */
const DISTINCT_BYTES = 16;

const USUAL_PASSWORDS: ReadonlySet<string> = new Set(
  (
    "admin administrator change-me change_me changeit changeme default guest herald letmein pass passw0rd password " +
    "postgres postgresql qwerty rabbitmq root secret test welcome 123456 12345678"
  )
    .split(" ")
    .flatMap((word) => [word, `${word}1`, `${word}123`]),
);

const IN_PLAINTEXT = "what it carries can be read and changed on the way.";
const OWN_NETWORK = "where the network is yours alone.";

const guessable: Check = [
  (url) => {
    const { user, password } = loginOf(url);
    if (user === "") return false;
    if (user === password) return "the user's name";
    return USUAL_PASSWORDS.has(password.toLowerCase()) && "one that everybody tries first";
  },
  "its password is {}. Give the user a random one.",
];

function isPlainPostgres(url: string, settings: SettingValues): boolean {
  const server = postgresOf(url);
  if (server === undefined || isThisMachine(server.host)) return false;
  return !server.isChecked && !isAllowedPlaintext("postgres", settings);
}

/** The values that production refuses, by the setting that an operator would change. */
const CHECKS: readonly (readonly [setting: string, ...Check])[] = [
  ["DATABASE_URL", ...guessable],
  [
    "DATABASE_URL",
    (url, settings) => !settings.DATABASE_CA_FILE && isPlainPostgres(url, settings),
    `${IN_PLAINTEXT} Add sslmode=verify-full to it, or set DATABASE_CA_FILE, or write ALLOW_PLAINTEXT=postgres ${OWN_NETWORK}`,
  ],
  ["OUTBOX_DATABASE_URL", ...guessable],
  [
    "OUTBOX_DATABASE_URL",
    isPlainPostgres,
    `${IN_PLAINTEXT} Add sslmode=verify-full to it, or write ALLOW_PLAINTEXT=postgres ${OWN_NETWORK}`,
  ],
  ["AMQP_URL", ...guessable],
  [
    "AMQP_URL",
    (text, settings) => {
      const url = urlOf(text);
      return url?.protocol === "amqp:" && !isThisMachine(url.hostname) && !isAllowedPlaintext("amqp", settings);
    },
    `${IN_PLAINTEXT} Write amqps://, or ALLOW_PLAINTEXT=amqp ${OWN_NETWORK}`,
  ],
  ["EGRESS_PROXY_URL", ...guessable],
  [
    "EGRESS_PROXY_URL",
    (text, settings) => {
      const { hostname = "", username, password } = urlOf(text) ?? {};
      return !!(username || password) && !isThisMachine(hostname) && !isAllowedPlaintext("proxy", settings);
    },
    `its user and password can be read on the way. Let the proxy know dispatchers by their addresses, or write ALLOW_PLAINTEXT=proxy ${OWN_NETWORK}`,
  ],
  [
    "SECRET_KEYS",
    trivialKeys,
    "the keys of these ids are not random: {}. Make a pair with herald keys make, and rotate to it.",
  ],
  [
    "AUTH_JWT_SECRET",
    isWeakSecret,
    "it is short, or not random. Make one with openssl rand -base64 32, or use AUTH_JWKS_URL of your identity provider.",
  ],
  [
    "AUTH_JWKS_URL",
    isPlainHttp,
    "an attacker on the way can put keys of their own into the answer, and sign tokens for every organization. Write https://.",
  ],
  [
    "PUBLIC_ORIGIN",
    isPlainHttp,
    "an attacker on the way can read the admins' tokens and change the page. Put TLS in front, and write https://.",
  ],
];

/** Every setting that is checked, or that the check of another setting reads. */
export const JUDGED_SETTINGS: readonly string[] = [...new Set(CHECKS.map(([setting]) => setting)), "DATABASE_CA_FILE"];

/** A sentence for each setting that production must not run with. Values that can't be read at all are left to the code that reads them. */
export function unsafeSettings(settings: SettingValues): string[] {
  return CHECKS.flatMap(([setting, find, sentence]) => {
    const value = settings[setting];
    const found = value !== undefined && value !== "" && find(String(value), settings);
    return found ? [`${setting} is not safe with HERALD_ENV=production: ${sentence.replace("{}", `${found}`)}`] : [];
  });
}

/**
 * The server that pg connects to by a URL, and by the environment variables that it also reads. pg is asked, since the text says less: if sslmode has two
 * values, pg takes the last, and with `uselibpqcompat=true` it checks nothing for `require`.
 */
function postgresOf(text: string) {
  try {
    const { host, user, password, ssl } = new pg.Client({ connectionString: text });
    const options: unknown = ssl;
    const tls = typeof options === "object" && options !== null ? (options as Record<string, unknown>) : undefined;
    return {
      host,
      login: { user: user ?? "", password: password ?? "" },
      /** Whether pg checks that it is this server. */
      isChecked: options === true || (tls !== undefined && tls.rejectUnauthorized !== false),
    };
  } catch {
    return undefined;
  }
}

/** The user and password of a URL; for PostgreSQL, those that pg takes. Empty if they can't be read. */
function loginOf(text: string): { user: string; password: string } {
  const none = { user: "", password: "" };
  if (/^postgres(ql)?:/i.test(text)) return postgresOf(text)?.login ?? none;
  const url = urlOf(text);
  if (url === undefined) return none;
  const { protocol, username, password } = url;
  // RabbitMQ is asked as this user if the URL has none.
  if (protocol.startsWith("amqp") && `${username}${password}` === "") return { user: "guest", password: "guest" };
  return { user: decoded(username), password: decoded(password) };
}

function trivialKeys(ring: string): string {
  const pairs = ring.split(",").map((pair) => pair.trim().split(":"));
  const trivial = pairs.filter(([, key = ""]) => {
    // The key itself ends its DER.
    const bytes = Buffer.from(key, "base64").subarray(-SECRET_BYTES);
    return bytes.length === SECRET_BYTES && isTrivial(bytes);
  });
  return trivial.map(([id]) => id).join(", ");
}

function isWeakSecret(secret: string): boolean {
  const bytes = /^([0-9a-f]{2})+$/i.test(secret) ? Buffer.from(secret, "hex") : Buffer.from(secret);
  return bytes.length < SECRET_BYTES || isTrivial(bytes);
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
