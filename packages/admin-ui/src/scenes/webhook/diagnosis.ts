import type { FailedAttempt } from "@herald/contracts";

export interface Diagnosis {
  /** What is most likely wrong. */
  cause: string;
  /** What to do about it. */
  remedy: string;
}

type Failure = Pick<FailedAttempt, "statusCode" | "errorSummary">;

interface Rule extends Diagnosis {
  status?: (status: number) => boolean;
  summary?: RegExp;
}

const is =
  (...statuses: number[]) =>
  (status: number): boolean =>
    statuses.includes(status);

/** From the particular to the general: the first that fits speaks. Network failures are all 503, so their summary decides. */
const rules: Rule[] = [
  {
    summary: /^interrupted/,
    cause: "Herald itself was interrupted in the middle of the attempt.",
    remedy: "There is nothing to correct in the receiver. Then resume.",
  },
  {
    summary: /^DNS|^host not found|does not know this host name/,
    cause: "The URL's host name can't be found, or not reliably.",
    remedy: "Correct the URL, or the DNS record behind it. Then resume.",
  },
  {
    summary: /^connection timed out|unreachable/,
    cause: "The receiver's address can't be reached.",
    remedy: "Look at its firewall and its network, or correct the URL. Then resume.",
  },
  {
    summary: /^timed out/,
    cause: "The receiver took too long to answer.",
    remedy: "Let it store the event, answer with 2xx at once, and do the work afterwards. Then resume.",
  },
  {
    summary: /certificate/,
    cause: "The connection failed over a TLS certificate.",
    remedy:
      "Install a valid certificate for the URL's host name, with its whole chain, and don't ask for one of the client's. Then resume.",
  },
  {
    summary: /TLS/,
    cause: "No encrypted connection could be made.",
    remedy: "Let the receiver speak TLS 1.2 or later on the URL's port. Then resume.",
  },
  {
    summary: /^connection refused/,
    cause: "Nothing accepts connections at the webhook's address.",
    remedy: "Start the receiver, or correct the port or the firewall. Then resume.",
  },
  {
    summary: /^address not allowed|^endpoint URL/,
    cause: "The URL leads to a private or reserved address, and Herald connects to public ones only.",
    remedy: "Use a URL whose host has a public address. Then resume.",
  },
  {
    summary: /^connection (reset|closed)/,
    cause: "The connection broke before an answer came.",
    remedy: "Look at the receiver's logs and at proxies in front of it. Then resume.",
  },
  {
    summary: /^response|only 1xx/,
    cause: "What the receiver answers is not valid HTTP.",
    remedy: "Look at its web server and at proxies in front of it. Then resume.",
  },
  {
    status: (status) => status >= 300 && status < 400,
    cause: "The receiver answers with a redirect, and redirects are never followed.",
    remedy: "Put the final URL into the webhook. Then resume.",
  },
  {
    status: is(401, 403),
    cause:
      "The receiver rejects the request. Most often its signing secret or its way of checking the signature is wrong.",
    remedy:
      "Compare its signature with the expected one (Signature), or replace the signing secret (Settings). Then resume.",
  },
  {
    status: is(404, 405, 410),
    cause: "The receiver has nothing that takes a POST at this URL.",
    remedy: "Correct the URL's path, or the receiver's route. Then resume.",
  },
  {
    status: is(400, 415, 422),
    cause: "The receiver does not accept the body.",
    remedy:
      "Look at its response in an attempt below. Receivers should tolerate fields that they don't know. Then resume.",
  },
  {
    status: is(413),
    cause: "The body is too large for the receiver.",
    remedy: "Raise its limit for request bodies. Then resume.",
  },
  {
    status: is(408, 429),
    cause: "The receiver, or something in front of it, is overloaded or limits the rate.",
    remedy: "Let it accept more requests. Then resume.",
  },
  {
    status: is(502, 503, 504),
    cause: "What stands in front of the receiver can't reach it, or it is down.",
    remedy: "Look at the receiver and at its gateway. Then resume.",
  },
  {
    status: (status) => status >= 500,
    cause: "The receiver fails inside.",
    remedy: "Look at its logs at the times of these attempts. Then resume.",
  },
];

/**
 * What a run of failures says about the receiver. The latest failure speaks, since it is how things stand; null where there is
 * none.
 */
export function diagnose(run: readonly Failure[], enabled = false): Diagnosis | null {
  const latest = run.at(-1);
  if (!latest) return null;
  const fits = ({ status, summary }: Rule): boolean =>
    status ? status(latest.statusCode) : (summary?.test(latest.errorSummary ?? "") ?? false);
  const { cause, remedy } = rules.find(fits) ?? {
    cause: `The receiver answered ${latest.statusCode}, which is no 2xx.`,
    remedy: "Look at its response in an attempt below. Then resume.",
  };
  return { cause, remedy: enabled ? remedy.replace(" Then resume.", " Retries go on by themselves.") : remedy };
}
