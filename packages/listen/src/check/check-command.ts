import { parseArgs } from "node:util";
import { EVENT_TYPES } from "@herald/receiver";
import { ArgumentError, DEFAULT_TIMEOUT_SECONDS, milliseconds, oneLine, receiverUrl, secretsOf } from "../arguments.ts";
import { ExchangeError } from "../exchange.ts";
import { type CheckOptions, type CheckResult, checkReceiver } from "./check-receiver.ts";

const usage = `herald-listen check: tries a receiver with good, hostile and odd requests, and says what it gets wrong

  herald-listen check --url URL [--secret TEXT] [--type WorkItemCompleted] [--json]
                      [--header-prefix X-Service] [--timeout 15] [--allow-http]

  --type          the event that the good requests are about: one that your receiver takes
  --json          the results as one JSON document
  --allow-http    permits http:// to another machine, which sends the signed requests in the clear
  WEBHOOK_SECRET   the secret that your receiver verifies with, as --secret

Good requests are real to your receiver: some forty sample events arrive. Try one that may get them.
A forged request is forged in X-Service-Signature and in webhook-signature, so your receiver may verify either.
Ends with 0 if all is right or merely slow, with 1 if something is wrong, and with 2 if nothing could be tried.`;

/** @returns the exit code */
export async function runCheck(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: "string" },
      secret: { type: "string" },
      "header-prefix": { type: "string", default: "X-Service" },
      timeout: { type: "string", default: DEFAULT_TIMEOUT_SECONDS },
      help: { type: "boolean", default: false },
      type: { type: "string", default: "WorkItemCompleted" },
      json: { type: "boolean", default: false },
      "allow-http": { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (values.url === undefined) throw new ArgumentError("--url is missing: where does your receiver listen?");
  const [secret] = secretsOf(values.secret === undefined ? [] : [values.secret]);
  if (secret === undefined) {
    throw new ArgumentError(
      "no secret to sign with: set WEBHOOK_SECRET, or give --secret, to the secret that your receiver verifies with",
    );
  }
  const eventType = EVENT_TYPES.find((type) => type === values.type);
  if (eventType === undefined) throw new ArgumentError(`--type must be one of ${EVENT_TYPES.join(", ")}`);
  const colour = process.stdout.isTTY && !process.env.NO_COLOR;
  const options: CheckOptions = {
    url: receiverUrl(values.url, values["allow-http"]),
    secret,
    headerPrefix: values["header-prefix"],
    timeoutMs: milliseconds("--timeout", values.timeout),
    eventType,
    ...(!values.json && { onResult: (result) => console.log(describeResult(result, colour)) }),
  };
  try {
    const results = await checkReceiver(options);
    const passed = results.every((result) => result.passed);
    console.log(
      values.json ? JSON.stringify({ url: options.url.href, passed, results }, null, 2) : describeResults(results),
    );
    return passed ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    console.error(`herald-listen: ${oneLine(error.message)}`);
    return 2;
  }
}

export function describeResult(
  { title, passed, statuses, durationMs, fault, advice, warning }: CheckResult,
  colour: boolean,
): string {
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const answers = [...new Set(statuses.map((status) => status ?? "no answer"))].join(", ");
  const mark = warning ? paint(33, "slow") : passed ? paint(32, "ok  ") : paint(31, "FAIL");
  const line = `${mark}  ${title}  ${paint(2, `${answers} in ${durationMs} ms`)}`;
  const more = warning ? [warning] : passed ? [] : [fault, advice];
  return [line, ...more.map((each) => `      ${oneLine(each ?? "")}`)].join("\n");
}

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
