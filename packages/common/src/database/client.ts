import type { Duplex } from "node:stream";
import pg from "pg";
import { ConfigError } from "../config/read-config.ts";
import { explain, isTlsFault, NO_TLS_CODE, POSTGRES } from "../security/connection-fault.ts";
import { type NamedFile, TlsFiles } from "../security/tls-files.ts";
import { serverUrl } from "./server-url.ts";

/**
 * Settings that change how values are written. A role or a database may have others, which pg can't read: it makes null of a time that is
 * not in ISO's form. These are the ones that every pooler takes at the start of a session.
 */
const SESSION_SETTINGS = { DateStyle: "ISO, MDY", TimeZone: "UTC", standard_conforming_strings: "on" };

/** How long a server may take to answer the end of a connection. Without an answer, TCP would keep it, and a command, for a quarter of an hour. */
const END_TIMEOUT_MS = 2_000;

export interface Address extends Pick<pg.ClientConfig, "connectionString" | "ssl" | "sslnegotiation"> {
  /** Files that the URL or a setting names: each new client gets what they hold then. */
  tlsFiles?: TlsFiles;
  /** Called with the error of a client that can't connect. */
  onRefused?: (error: Error) => void;
}

/** pg's client, in whose sessions values are written as pg reads them. */
export class SessionClient extends pg.Client {
  readonly #address: Address;

  constructor(config: pg.ClientConfig & Address = {}) {
    const { ssl, tlsFiles } = config;
    super(tlsFiles && ssl ? { ...config, ssl: { ...(ssl as object), ...tlsFiles.current() } } : config);
    this.#address = config;
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    if (callback !== undefined) {
      super.connect((error: Error) => callback(error && this.refused(error)));
      return undefined;
    }
    return super.connect().catch((error: Error) => {
      throw this.refused(error);
    });
  }

  protected refused(error: Error): Error {
    this.#address.tlsFiles?.failed(error);
    this.#address.onRefused?.(error);
    return error;
  }

  /** Makes the parameters that the server gets at the start of the session. pg calls this; its types don't have it. */
  getStartupConf(): Record<string, string> {
    const own = (pg.Client.prototype as unknown as SessionClient).getStartupConf.call(this);
    return { ...SESSION_SETTINGS, ...own };
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    // Not in pg's types.
    const { stream } = (this as unknown as { connection: { stream: Duplex } }).connection;
    const timer = setTimeout(() => stream.destroy(), END_TIMEOUT_MS).unref();
    stream.once("close", () => clearTimeout(timer));
    if (callback === undefined) return super.end();
    super.end(callback);
    return undefined;
  }
}

/** The client for Herald's own database. Where TLS fails, its error keeps its code and says what to do. A connection that breaks fails the statement under way. */
export class Client extends SessionClient {
  constructor(config?: pg.ClientConfig & Address) {
    super(config);
    // A connection that breaks also emits "error", which would end the process if it had no listener. A pool listens to idle
    // connections only, and the code that takes one out can listen a moment later: too late where the server's "ready" and its end come together.
    this.on("error", () => {});
  }

  /** Replaces the message of an error of TLS, and gives the error a code by which callers recognize it. */
  protected override refused(error: Error & { code?: string }): Error {
    super.refused(error);
    if (!isTlsFault(error)) return error;
    const { what, remedy } = explain(error, POSTGRES, "");
    error.message = `${what} ${remedy}`;
    error.code ??= NO_TLS_CODE;
    return error;
  }

  /** The number of the server process, as the other end gave it at the start; a pooler makes one up. */
  get serverProcessId(): number {
    // Not in pg's types.
    return (this as unknown as { processID: number }).processID;
  }
}

const FILES = { sslrootcert: "ca", sslcert: "cert", sslkey: "key" } as const;
/** The parameters of TLS that a URL may have beside a file of authorities: they ask for no more than that file does. */
const SAME_AS_FILE = ["prefer", "require", "verify-ca", "verify-full"];
const PARAMETERS = ["sslmode", "uselibpqcompat", "ssl", "sslnegotiation", ...Object.keys(FILES)];

/**
 * How a client reaches the server: as the URL says, or, with a file of authorities of one's own, over TLS, with the server's certificate and name
 * checked against them.
 * @throws ConfigError if the URL or a file can't be used, or the URL says something else about TLS than `caFile` does
 */
export function addressOf(
  text: string,
  caFile?: string,
  { log, urlSetting = "DATABASE_URL" }: { log?: TlsFiles["log"]; urlSetting?: string } = {},
): Address {
  const url = serverUrl(text, { hasCaFile: caFile !== undefined, setting: urlSetting });
  const address = URL.parse(url);
  const parameters = address?.searchParams ?? new URLSearchParams();
  let named = Object.entries(FILES).flatMap(([name, use]): NamedFile[] => {
    const file = parameters.get(name);
    return file ? [{ use, setting: `${name} in ${urlSetting}`, file }] : [];
  });
  if (caFile === undefined && named.length === 0) return { connectionString: url };
  if (!address) throw new ConfigError([`${urlSetting} is no URL, so DATABASE_CA_FILE can't be used with it.`]);
  const { sslnegotiation } = Object.fromEntries(parameters) as Address;
  if (caFile !== undefined) {
    assertSameAsFile(parameters);
    named = [{ use: "ca", setting: "DATABASE_CA_FILE", file: caFile }];
  }
  const tlsFiles = new TlsFiles(named, { log });
  // pg would read the files of a URL for each client, and throw where nothing can catch it.
  const { ssl } = caFile === undefined ? new pg.Client({ connectionString: url }) : { ssl: {} };
  for (const name of PARAMETERS) parameters.delete(name);
  return { connectionString: address.href, ssl, ...(sslnegotiation && { sslnegotiation }), tlsFiles };
}

function assertSameAsFile(parameters: URLSearchParams): void {
  const mode = parameters.get("sslmode") ?? "verify-full";
  const overruled = ["ssl", ...Object.keys(FILES)].find((name) => parameters.has(name));
  if (!SAME_AS_FILE.includes(mode)) {
    throw new ConfigError([
      `DATABASE_URL says sslmode=${mode}, but with DATABASE_CA_FILE the certificate is checked. Remove one of them.`,
    ]);
  }
  if (overruled === undefined) return;
  throw new ConfigError([
    `DATABASE_URL says ${overruled}, which DATABASE_CA_FILE would overrule. Remove one of them; sslrootcert in the URL names such a file too.`,
  ]);
}

/**
 * Whether statements may be prepared under a name. They may not where the URL says `pgbouncer=true`, which other clients of
 * PostgreSQL read in the same way: a pooler gives the next transaction another connection, where the name does not exist.
 */
export function preparesStatements(url: string): boolean {
  return !URL.canParse(url) || new URL(url).searchParams.get("pgbouncer") !== "true";
}

/** One connection to PostgreSQL, of no pool of this process. */
export interface Session {
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Reads tables of Herald: PostgreSQL ends the statement soon (57014), and sooner if it waits for a lock (55P03). */
  read<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 3_000;
const QUERY_TIMEOUT_MS = 15_000;
/** Limits of one transaction, since a limit of the session would stay on a pooler's connection. */
const BEGIN_READ = "begin read only; set local lock_timeout = 1000; set local statement_timeout = 3000";

/** Connects at once, for a look from outside at what the services will find. @throws pg's error if there is no connection */
export async function openSession(
  url: string,
  { caFile, applicationName }: { caFile?: string | undefined; applicationName: string },
): Promise<Session> {
  const client = new Client({
    ...addressOf(url, caFile),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  await client.connect();
  async function query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await client.query(text, [...values]);
    return rows as Row[];
  }
  return {
    query,
    async read<Row>(text: string, values: readonly unknown[] = []) {
      // Without values the text may be several statements.
      await client.query(BEGIN_READ);
      return await query<Row>(text, values).finally(() => client.query("rollback"));
    },
    close: () => client.end(),
  };
}
