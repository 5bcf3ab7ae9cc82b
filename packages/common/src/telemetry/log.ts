import winston from "winston";

/** Facts of a log line, by name. Never a secret, a token or a payload. */
export type LogFields = Record<string, unknown>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether debug lines are written, so that a hot path can leave out making them. */
  readonly isDebug: boolean;
}

/** Standard output of a process may stand still, as a pipe that nobody reads. Lines beyond these bytes would fill the memory. */
const MOST_WAITING_BYTES = 1_048_576;

let lost = 0;

/** Lines of this process's logs that standard output did not take. */
export const linesLost = (): number => lost;

function lose(reason: string): void {
  lost++;
  if (lost === 1) process.stderr.write(`Lines of the log are lost, and the process goes on: ${reason}.\n`);
}

/** A stream whose error nobody hears ends the process: its log, on a disk that is full, or with a supervisor that has gone. */
function hearErrors(): void {
  const { stdout, stderr } = process;
  if (stdout.listenerCount("error") === 0) stdout.on("error", ({ message }) => lose(`standard output: ${message}`));
  if (stderr.listenerCount("error") === 0) stderr.on("error", () => {});
}

const unlessFull = winston.format((info) => {
  if (process.stdout.writableLength <= MOST_WAITING_BYTES) return info;
  lose("nobody reads standard output");
  return false;
});

/** Logs one JSON object a line to standard output. Lines that it does not take are dropped, and counted: a log stops no work. */
export function createLog({ service, level }: { service: string; level: "debug" | "info" | "warn" | "error" }): Log {
  hearErrors();
  const logger = winston.createLogger({
    level,
    defaultMeta: { service },
    format: winston.format.combine(
      unlessFull(),
      winston.format.timestamp(),
      errorsAsText(),
      winston.format.json(),
      withoutMisleadingCharacters(),
    ),
    transports: [new winston.transports.Console({ stderrLevels: [] })],
  });
  return {
    debug: (message, fields) => void logger.debug(message, fields),
    info: (message, fields) => void logger.info(message, fields),
    warn: (message, fields) => void logger.warn(message, fields),
    error: (message, fields) => void logger.error(message, fields),
    isDebug: level === "debug",
  };
}

/**
 * JSON has no errors: an Error among the fields becomes its stack, with the stacks of its causes. Its code, such as a SQLSTATE or
 * ECONNREFUSED, is a field of its own, to search for.
 */
const errorsAsText = winston.format((info) => {
  for (const [name, value] of Object.entries(info)) {
    if (!(value instanceof Error)) continue;
    info[name] = textOf(value);
    if ("code" in value && typeof value.code === "string") info[`${name}Code`] = value.code;
  }
  return info;
});

/**
 * JSON escapes line breaks and ESC. It leaves characters that a terminal or a log viewer may take for the end of a line, for a
 * command or for a change of the writing direction: the C1 controls (U+009B begins what ESC [ does), U+2028, U+2029 and
 * the marks of bidirectional text.
 */
const withoutMisleadingCharacters = winston.format((info) => {
  const line = info[MESSAGE];
  if (typeof line === "string") info[MESSAGE] = line.replace(MISLEADING, escaped);
  return info;
});
const MESSAGE = Symbol.for("message");
const MISLEADING = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

function textOf(error: Error): string {
  const { stack, message, code, detail } = error as Error & { code?: unknown; detail?: unknown };
  // PostgreSQL's reason. Of a row that it refuses (classes 22 and 23) that would be the row.
  const reason = typeof detail === "string" && !/^2[23]/.test(String(code)) ? `\ndetail: ${detail}` : "";
  const own = (stack ?? message) + reason;
  return error.cause instanceof Error ? `${own}\ncaused by: ${textOf(error.cause)}` : own;
}
