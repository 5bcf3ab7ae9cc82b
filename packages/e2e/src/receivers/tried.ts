import { checkReceiver } from "@herald/listen";
import { type Startable, startProgram } from "./start-program.ts";

/** Something of the examples that did right. */
export interface Tried {
  /** The language, or the framework. */
  name: string;
  /** What ran it, such as "Python 3.11.2". */
  version: string;
}

/**
 * The names in a page's table that it says ran: those of the rows of which it does not say "not tried".
 *
 * @param head of the table's first column
 */
export function namesTried(page: string, head: string): string[] {
  const [, table = ""] = page.split(`\n| ${head} |`);
  const rows = (table.split("\n\n")[0] ?? "").split("\n").filter((line) => !line.includes("| not tried |"));
  return rows.flatMap((line) => /^\| \[(.+?)\]\(/.exec(line)?.slice(1) ?? []);
}

/** Used by nobody else: Base64 like a real one, which a wrong verifier would decode. */
export const EXAMPLE_SECRET = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";

/** Starts a receiver and tries it by the table of `herald-listen check`. @throws where a check fails */
export async function tryReceiver(name: string, startable: Startable, folder: string): Promise<void> {
  const running = await startProgram(startable, folder, EXAMPLE_SECRET);
  try {
    const results = await checkReceiver({ url: running.url, secret: EXAMPLE_SECRET });
    const faults = results.filter(({ passed }) => !passed).map(({ title, fault }) => `${title}: ${fault}`);
    if (faults.length > 0) throw new Error(`The receiver in ${name} fails:\n${faults.join("\n")}`);
  } finally {
    await running.close();
  }
}
