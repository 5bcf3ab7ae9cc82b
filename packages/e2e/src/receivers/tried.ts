import { checkReceiver } from "@herald/receiver/listen";
import type { Language, Programs } from "./languages.ts";
import { buildExample } from "./run-example.ts";

/** Where it is kept what ran: `pnpm receivers` writes it. */
export const TRIED_RECEIVERS = "docs/receivers.json";

/** A receiver of the examples that passed every check. */
export interface TriedReceiver {
  language: string;
  /** What ran it, such as "Python 3.11.2". */
  version: string;
  checks: number;
}

/** Used by nobody else: Base64 like a real one, which a wrong verifier would decode. */
export const EXAMPLE_SECRET = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";

/** @throws where a check fails */
export async function tryReceiver(language: Language, programs: Programs): Promise<TriedReceiver> {
  const built = await buildExample(language, programs);
  try {
    const running = await built.start(EXAMPLE_SECRET);
    try {
      const results = await checkReceiver({ url: running.url, secret: EXAMPLE_SECRET });
      const faults = results.filter(({ passed }) => !passed).map(({ title, fault }) => `${title}: ${fault}`);
      if (faults.length > 0) throw new Error(`The receiver in ${language.name} fails:\n${faults.join("\n")}`);
      return { language: language.name, version: built.version, checks: results.length };
    } finally {
      await running.close();
    }
  } finally {
    built.remove();
  }
}
