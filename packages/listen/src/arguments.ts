/** A wrong argument. Its message goes to the terminal. */
export class ArgumentError extends Error {}

export function integer(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new ArgumentError(`${name} must be a whole number from ${min} to ${max}`);
  return value;
}

const THIS_MACHINE = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** @param secret what an http:// URL of another machine would show to the network; null if the user allows that */
export function httpUrl(name: string, text: string, secret: string | null): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new ArgumentError(`${name} must be a URL such as http://localhost:3000/hooks`);
  if (url.username || url.password) throw new ArgumentError(`${name} must have no user or password in it`);
  if (secret !== null && url.protocol === "http:" && !THIS_MACHINE.test(url.hostname))
    throw new ArgumentError(`${name} must begin with https://, unless it is on this machine: it gets ${secret}`);
  url.hash = "";
  return url;
}

export function receiverUrl(text: string, allowHttp: boolean): URL {
  return httpUrl("--url", text, allowHttp ? null : "signed payloads. --allow-http permits it");
}

export function secretsOf(given: readonly string[]): string[] {
  return [...given, process.env.WEBHOOK_SECRET ?? ""].filter((secret) => secret !== "");
}

/** The longest that Herald waits (SPEC 8). */
export const DEFAULT_TIMEOUT_SECONDS = "15";

export function milliseconds(name: string, seconds: string): number {
  return integer(name, seconds, 1, 3600) * 1000;
}

/** Escapes what can steer a terminal or deceive its reader: controls, marks of direction, invisible characters. JSON stays JSON of the same value. */
export function printable(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // A character beyond U+FFFF is two units.
  return text.replaceAll(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => character.replaceAll(/./gs, escaped));
}

/** Text of another program, on one line: more lines could pass for lines of this program. */
export const oneLine = (text: string): string => printable(text.replaceAll(/[\t\n\r]/g, " "));
