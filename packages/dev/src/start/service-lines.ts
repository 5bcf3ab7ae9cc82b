const SHOWN_LEVELS: ReadonlySet<unknown> = new Set(["warn", "error"]);
const NOT_FACTS: ReadonlySet<string> = new Set(["timestamp", "level", "service", "message"]);

/**
 * A service's log line as a person at the terminal wants it: warnings and errors, short. The log files hold everything.
 *
 * @returns undefined for what is not worth showing
 */
export function forTheTerminal(service: string, line: string): string | undefined {
  const entry = parse(line);
  // Not a log line of Herald: a crash during the start, or a warning of Node. It is always shown.
  if (entry === undefined) return line.trim() === "" ? undefined : `${service}: ${line}`;
  if (!SHOWN_LEVELS.has(entry.level)) return undefined;
  const facts = Object.entries(entry)
    .filter(([name]) => !NOT_FACTS.has(name))
    .map(([name, value]) => `${name}=${short(value)}`);
  return [`${service} ${String(entry.level)}: ${String(entry.message)}`, ...facts].join(" ");
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const firstLine = (text ?? "").split("\n")[0] ?? "";
  return firstLine.length > 160 ? `${firstLine.slice(0, 160)}...` : firstLine;
}
