import { parseArgs } from "node:util";
import { EVENT_TYPES } from "@herald/receiver";
import { ArgumentError, DEFAULT_TIMEOUT_SECONDS, httpUrl, milliseconds, secretOf } from "../arguments.ts";
import { ExchangeError } from "../send/exchange.ts";
import { type CheckOptions, checkReceiver } from "./check-receiver.ts";
import { describeResult, describeResults } from "./report.ts";

const usage = `herald-listen check: tries a receiver with good, hostile and odd requests, and says what it gets wrong

  herald-listen check --url URL [--secret TEXT] [--type WorkItemCompleted] [--json]
                      [--header-prefix X-Service] [--timeout 15]

  --type          the event that the good requests are about: one that your receiver takes
  --json          the results as one JSON document
  WEBHOOK_SECRET   the secret that your receiver verifies with, as --secret

Good requests are real to your receiver: some forty sample events arrive. Try one that may get them.
It finds out which signature your receiver verifies, X-Service-Signature or webhook-signature, and forges that one.
Ends with 0 where all is right or merely slow, with 1 where something is wrong, and with 2 where nothing could be tried.`;

/** @returns the exit code */
export async function runCheck(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: "string" },
      secret: { type: "string" },
      type: { type: "string", default: "WorkItemCompleted" },
      json: { type: "boolean", default: false },
      "header-prefix": { type: "string", default: "X-Service" },
      timeout: { type: "string", default: DEFAULT_TIMEOUT_SECONDS },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (values.url === undefined) throw new ArgumentError("--url is missing: where does your receiver listen?");
  const eventType = EVENT_TYPES.find((type) => type === values.type);
  if (eventType === undefined) throw new ArgumentError(`--type must be one of ${EVENT_TYPES.join(", ")}`);
  const colour = process.stdout.isTTY && !process.env.NO_COLOR;
  const options: CheckOptions = {
    url: httpUrl("--url", values.url),
    secret: secretOf(values.secret),
    eventType,
    headerPrefix: values["header-prefix"],
    timeoutMs: milliseconds("--timeout", values.timeout),
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
    console.error(`herald-listen: ${error.message}`);
    return 2;
  }
}
