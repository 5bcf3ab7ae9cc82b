import type { CheckResult } from "./check-receiver.ts";

/** One line for a check that passed, three for one that failed. */
export function describeResult(
  { title, passed, statuses, durationMs, fault, advice }: CheckResult,
  colour: boolean,
): string {
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const answers = [...new Set(statuses.map((status) => status ?? "no answer"))].join(", ");
  const mark = passed ? paint(32, "ok  ") : paint(31, "FAIL");
  const line = `${mark}  ${title}  ${paint(2, `${answers} in ${durationMs} ms`)}`;
  return passed ? line : [line, `      ${fault}`, `      ${advice}`].join("\n");
}

export function describeResults(results: readonly CheckResult[]): string {
  const failed = results.filter(({ passed }) => !passed).length;
  if (failed === 0) return `all ${results.length} passed`;
  const counted = `${failed} of ${results.length} failed`;
  // A receiver that refuses everything is right about each bad request.
  return results[0]?.passed ? counted : `${counted}; mend the first one first: until then, the others say little`;
}
