import type { CheckResult } from "./check-receiver.ts";

/** One line for a check that passed, three for one that failed. */
export function describeResult(
  { title, passed, statuses, durationMs, fault, advice, warning }: CheckResult,
  colour: boolean,
): string {
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const answers = [...new Set(statuses.map((status) => status ?? "no answer"))].join(", ");
  const mark = warning ? paint(33, "slow") : passed ? paint(32, "ok  ") : paint(31, "FAIL");
  const line = `${mark}  ${title}  ${paint(2, `${answers} in ${durationMs} ms`)}`;
  const more = warning ? [warning] : passed ? [] : [fault, advice];
  return [line, ...more.map((each) => `      ${each}`)].join("\n");
}

/** The last lines: how many passed, and what the person still has to look at. */
export function describeResults(results: readonly CheckResult[]): string {
  const questions = results.flatMap((result) => result.questions.map((question) => `- ${question}`));
  if (questions.length === 0) return countOf(results);
  return [countOf(results), "", "An answer can't show these. Look at what your receiver stored:", ...questions].join(
    "\n",
  );
}

function countOf(results: readonly CheckResult[]): string {
  const failed = results.filter(({ passed }) => !passed).length;
  const slow = results.filter(({ warning }) => warning !== null).length;
  const slowly = slow > 0 ? `, ${slow} slowly` : "";
  if (failed === 0) return `all ${results.length} passed${slowly}`;
  const counted = `${failed} of ${results.length} failed${slowly}`;
  // A receiver that refuses everything is right about each bad request.
  return results[0]?.passed ? counted : `${counted}; mend the first one first: until then, the others say little`;
}
