import { pnpm } from "./pnpm.ts";

export type Audit =
  /** Nothing is known against what Herald ships. */
  | { kind: "clean" }
  | { kind: "advisories"; text: string }
  /** Nobody was there to ask: that is no answer, and no pass. */
  | { kind: "unanswered"; reason: string };

/** Asks the registry what is known against the dependencies of production. */
export async function audit(): Promise<Audit> {
  return auditOf(await pnpm(["audit", "--prod", "--json"]));
}

/** Reads what pnpm said: JSON where the registry answered, an error's text where it didn't. */
export function auditOf({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }): Audit {
  const report = parse(stdout);
  const counts = report?.metadata?.vulnerabilities;
  if (counts === undefined || report?.error !== undefined) {
    return { kind: "unanswered", reason: firstLines(`${stdout}\n${stderr}`) };
  }
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  if (found.length === 0 && code === 0) return { kind: "clean" };
  const advisories = Object.values(report?.advisories ?? {}).map(
    ({ severity, module_name, title, url }) => `  ${severity}: ${module_name}: ${title} (${url})`,
  );
  return {
    kind: "advisories",
    text: [found.map(([name, count]) => `${count} ${name}`).join(", "), ...advisories].join("\n"),
  };
}

interface Report {
  error?: unknown;
  metadata?: { vulnerabilities?: Record<string, number> };
  advisories?: Record<string, { severity: string; module_name: string; title: string; url: string }>;
}

function parse(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report;
  } catch {
    return undefined;
  }
}

function firstLines(text: string): string {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("npm warn"));
  return lines.slice(0, 4).join(" ") || "pnpm audit said nothing";
}
