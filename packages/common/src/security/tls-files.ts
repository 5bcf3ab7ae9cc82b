import { createHash, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { withHeartbeat } from "@herald/amqp";
import { ConfigError, readSetting } from "../config/read-config.ts";
import type { Log } from "../telemetry/log.ts";
import { isTlsFault, reasonOf } from "./connection-fault.ts";

/** PEM texts, as Node's TLS takes them: authorities, and a certificate of one's own with its key. */
export type Pem = { [Use in "ca" | "cert" | "key"]?: string };

export interface NamedFile {
  use: keyof Pem;
  setting: string;
  file: string;
}

interface FoundFile extends NamedFile {
  text: string;
  changedAt: Date;
}

/** A process's authorities, as others compare them. */
export type Held = {
  mark: string;
  /** How long the file has been as it is. */
  heldSeconds: number;
};

const LOOK_MS = 60_000;
/** Connections may fail often: a receiver's certificate is the receiver's. */
const LOOK_AFTER_FAILURE_MS = 1_000;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*(-----END CERTIFICATE-----)?/g;

/**
 * Files that one side of TLS is made of. They are read at the start, again in the background once a minute, and at once if a connection fails by its TLS. New
 * connections get the newest content that could be used: what can't be read or parsed changes nothing, and is logged once.
 */
export class TlsFiles {
  /** May be given later: settings are read before there is a log. */
  log: Pick<Log, "info" | "warn"> | undefined;
  readonly #nowMs: () => number;
  readonly #onChange: (pem: Pem) => void;
  #files: readonly FoundFile[];
  #pem: Pem;
  #mark: string | undefined;
  #lookedMs: number;
  #looking: Promise<void> | undefined;
  #isRefused = false;

  /** @throws ConfigError if a file can't be used */
  constructor(
    named: readonly NamedFile[],
    {
      log,
      nowMs = () => performance.now(),
      onChange = () => {},
    }: { log?: TlsFiles["log"]; nowMs?: (() => number) | undefined; onChange?: (pem: Pem) => void } = {},
  ) {
    this.log = log;
    this.#nowMs = nowMs;
    this.#onChange = onChange;
    this.#lookedMs = nowMs();
    this.#files = named.map((each) => {
      try {
        return { ...each, text: readFileSync(each.file, "utf8"), changedAt: statSync(each.file).ctime };
      } catch (error) {
        throw new ConfigError([`${each.setting} names a file that can't be read: ${reasonOf(error)}`]);
      }
    });
    [this.#pem, this.#mark] = pemOf(this.#files);
  }

  /** The same object for as long as nothing changes. */
  current(): Pem {
    this.#look(LOOK_MS);
    return this.#pem;
  }

  /**
   * To be called with the error of each connection that could not be opened. Resolves when no look at the files is under way that it may have caused.
   * @returns whether other files can mend it
   */
  async failed(error: unknown): Promise<boolean> {
    if (!isTlsFault(error)) return false;
    this.#look(LOOK_AFTER_FAILURE_MS);
    await this.#looking;
    return true;
  }

  /** The authorities by the setting that names them; empty if no file has any. */
  held(): Readonly<Record<string, Held>> {
    this.#look(LOOK_MS);
    const ca = this.#files.find(({ use }) => use === "ca");
    if (ca === undefined || this.#mark === undefined) return {};
    const heldSeconds = Math.max(0, Math.round((Date.now() - ca.changedAt.getTime()) / 1_000));
    return { [ca.setting]: { mark: this.#mark, heldSeconds } };
  }

  #look(intervalMs: number): void {
    const sinceMs = this.#nowMs() - this.#lookedMs;
    if (this.#looking && sinceMs >= LOOK_MS) this.#refuse(new Error("The file system does not answer."));
    if (this.#looking || sinceMs < intervalMs) return;
    this.#lookedMs = this.#nowMs();
    this.#looking = this.#readAgain()
      .catch((error) => this.#refuse(error))
      .finally(() => {
        this.#looking = undefined;
      });
  }

  async #readAgain(): Promise<void> {
    const files = await Promise.all(
      this.#files.map(async (each) => {
        return { ...each, text: await readFile(each.file, "utf8"), changedAt: (await stat(each.file)).ctime };
      }),
    );
    const changed = files.filter(({ text }, index) => text !== this.#files[index]?.text);
    if (changed.length > 0) {
      [this.#pem, this.#mark] = pemOf(files);
      this.#files = files;
      this.#onChange(this.#pem);
    }
    this.#isRefused = false;
    for (const { setting, file, changedAt } of changed) {
      const since = changedAt.toISOString();
      this.log?.info("a file has changed; new connections use what it holds now", { setting, file, since });
    }
  }

  #refuse(error: unknown): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    const setting = this.#files.map((each) => each.setting).join(", ");
    const reason = error instanceof ConfigError ? error.problems.join(" ") : reasonOf(error);
    this.log?.warn("a file can't be used; new connections use what it held before", { setting, reason });
  }
}

/** @throws ConfigError if a file holds something else than its use asks for */
function pemOf(files: readonly FoundFile[]): [pem: Pem, mark: string | undefined] {
  const pem: Pem = Object.fromEntries(files.map(({ use, text }) => [use, text]));
  const ca = files.find(({ use }) => use === "ca");
  const own = files.filter(({ use }) => use !== "ca");
  const authorities = ca && authoritiesIn(ca);
  // OpenSSL reads none behind one whose last line is not ended, as where two files were joined.
  if (authorities) pem.ca = authorities.map((each) => each.pem).join("\n");
  const mark = authorities && markOf(authorities.map(({ print }) => print));
  try {
    if (own.length > 0) createSecureContext(pem);
  } catch (error) {
    const settings = own.map(({ setting, file }) => `${setting} (${file})`).join(" and ");
    throw new ConfigError([`${settings} can't be used: ${reasonOf(error)}`]);
  }
  return [pem, mark];
}

function authoritiesIn({ setting, file, text }: FoundFile): { pem: string; print: string }[] {
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) {
    throw new ConfigError([
      `${setting}: ${file} holds no certificate in PEM (-----BEGIN CERTIFICATE-----). ` +
        "Give the certificate of the authority; one in DER is converted by: openssl x509 -inform der -in FILE",
    ]);
  }
  return certificates.map((pem, index) => {
    try {
      // OpenSSL leaves out what it can't read, and says nothing.
      return { pem, print: new X509Certificate(pem).fingerprint256 };
    } catch {
      throw new ConfigError([`${setting}: certificate ${index + 1} of ${file} is damaged; fetch the file again.`]);
    }
  });
}

/** Distinguishes authorities, whatever their order. */
function markOf(prints: readonly string[]): string {
  const hash = createHash("sha256")
    .update([...new Set(prints)].sort().join())
    .digest("hex");
  return `${prints.length} authorities (${hash.slice(0, 8)})`;
}

/** The authorities of the file that a setting names; undefined if the setting is absent. @throws ConfigError */
export function authoritiesOf(setting: string, file: string | undefined, log?: TlsFiles["log"]): TlsFiles | undefined {
  return file === undefined ? undefined : new TlsFiles([{ use: "ca", setting, file }], { log });
}

/** The authorities of the broker; undefined for Node's own. @throws ConfigError also if there are any, and the URL asks for no TLS */
export function brokerAuthorities(url: string, file: string | undefined, log?: TlsFiles["log"]): TlsFiles | undefined {
  readSetting("AMQP_URL", () => withHeartbeat(url));
  if (file === undefined || /^amqps:/i.test(url)) return authoritiesOf("AMQP_CA_FILE", file, log);
  throw new ConfigError([
    "AMQP_CA_FILE is set, but AMQP_URL asks for no TLS. Write amqps:// and the broker's port for TLS.",
  ]);
}
