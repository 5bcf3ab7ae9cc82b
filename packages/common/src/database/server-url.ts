import { ConfigError } from "../config/read-config.ts";

/** What libpq reads beside those of TLS. Herald's client has no use for some of them. */
const OF_LIBPQ = `
  host hostaddr port dbname user password passfile require_auth channel_binding connect_timeout client_encoding options
  application_name fallback_application_name keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout
  gssencmode krbsrvname gsslib gssdelegation target_session_attrs load_balance_hosts min_protocol_version max_protocol_version
  sslmode sslnegotiation sslrootcert sslcert sslkey sslpassword sslcertmode sslcompression sslcrl sslcrldir sslsni requirepeer
  requiressl ssl_min_protocol_version ssl_max_protocol_version`;
/** What other clients read: pg, and Prisma. */
const OF_OTHERS = "pgbouncer uselibpqcompat ssl schema";
const KNOWN: ReadonlySet<string> = new Set(`${OF_LIBPQ} ${OF_OTHERS}`.split(/\s+/));

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/**
 * The URL of a PostgreSQL server as pg reads it, from one that libpq takes. A "%" that begins no code stands for itself.
 * @throws ConfigError that says what to change, and repeats nothing of user and password
 */
export function serverUrl(text: string, { hasCaFile, setting }: { hasCaFile: boolean; setting: string }): string {
  const refuse = (problem: string): never => {
    throw new ConfigError([`${setting} ${problem}`]);
  };
  if (/^["'].*["']$/.test(text)) refuse("is in quotation marks. Remove them: they are not a part of the value.");
  const [, hosts = ""] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(text) ?? [];
  const url = text.replaceAll(/%(?![0-9a-f]{2})/gi, "%25").replaceAll(" ", "%20");
  const address = URL.parse(url);
  const parameters = address?.searchParams ?? new URLSearchParams();
  if ([hosts, parameters.get("host"), parameters.get("port")].some((each) => each?.includes(","))) {
    refuse("names several hosts, and Herald connects to one. Give it a name or an address that follows the primary.");
  }
  // Without a host it is a socket of this machine.
  if (!/^postgres(ql)?:\/\//i.test(text) || (!address && !/^[^/]*\/\/([^/]*@)?\//.test(text))) {
    refuse("must be of the form postgres://user:password@host:port/database, with special characters percent-encoded.");
  }
  for (const name of parameters.keys()) {
    if (!KNOWN.has(name))
      refuse(`has the parameter ${name}, which PostgreSQL's clients do not know. Correct or remove it.`);
  }
  const schema = parameters.get("schema");
  if (schema !== null && schema !== "public")
    refuse("asks for another schema, and Herald works in public. Remove schema from it.");
  const mode = parameters.getAll("sslmode").at(-1);
  if (mode !== undefined && !MODES.includes(mode)) refuse(`has an unknown sslmode. It can be ${MODES.join(", ")}.`);
  if (!hasCaFile && (mode === "allow" || (mode === "prefer" && parameters.get("uselibpqcompat") !== "true"))) {
    refuse(
      `says sslmode=${mode}, which leaves TLS to the server, and Herald does not guess. Write verify-full, or disable.`,
    );
  }
  return url;
}
