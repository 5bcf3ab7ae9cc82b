import type { DeliveryDetails } from "@herald/contracts";
import { useEffect, useState } from "react";
import { classNames } from "../../common/class-names.ts";
import { Code } from "../../common/display/Code.tsx";
import { Notice } from "../../common/feedback/Notice.tsx";
import { Choices, TextField } from "../../common/form/Field.tsx";
import { product } from "../../common/product.ts";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { Moment } from "../../common/Time.tsx";
import css from "./Signature.module.css";
import { expectedSignature, judgeSignature, type Signed, signedMessage } from "./signature.ts";

export function SignatureCheck({ delivery }: { delivery: DeliveryDetails }) {
  const { headerPrefix } = useSession();
  const [number, setNumber] = useState(String(delivery.attempts.at(-1)?.number));
  const [secret, setSecret] = useState("");
  const [got, setGot] = useState("");
  const attempt = delivery.attempts.find((each) => String(each.number) === number) ?? delivery.attempts.at(-1);
  if (!attempt) return null;
  const { timestamp } = attempt;
  const signed = { secret, timestamp, body: delivery.body };
  return (
    <div className={shared.stack}>
      {delivery.attempts.length > 1 ? (
        <div className={shared.row}>
          <span className={classNames(shared.small, shared.strong)} aria-hidden="true">
            Attempt
          </span>
          <Choices
            name="Attempt"
            value={String(attempt.number)}
            options={delivery.attempts.map((each) => ({ value: String(each.number), words: String(each.number) }))}
            onChange={setNumber}
          />
          <span className={shared.note}>Each attempt has a timestamp and a signature of its own.</span>
        </div>
      ) : null}
      <div className={shared.column}>
        <h3 className={shared.small}>{headerPrefix}-Timestamp</h3>
        <Code what="timestamp" text={timestamp} />
        <p className={shared.note}>
          <Moment iso={new Date(Number(timestamp) * 1000).toISOString()} />. Receivers should allow 300 s either way.
        </p>
      </div>
      <div className={shared.column}>
        <h3 className={shared.small}>Signed message: the timestamp, a dot, and the body to the byte</h3>
        <Code what="signed message" text={signedMessage(signed)}>
          <mark className={css.prefix}>{timestamp}.</mark>
          {delivery.body}
        </Code>
      </div>
      <TextField
        label="Signing secret"
        hint={
          <>
            {product.name} can't show it again, so paste it from where you keep it: the one in force at the time of the
            attempt. It stays in this page and <strong>is never sent</strong>; the signature is computed in your
            browser.
          </>
        }
        mono
        type="password"
        value={secret}
        onChange={setSecret}
        data-1p-ignore
      />
      <Expected prefix={headerPrefix} signed={signed} />
      <TextField
        label="What your receiver computed (optional)"
        hint={`${product.name} looks for the mistake that explains the difference.`}
        mono
        value={got}
        placeholder="sha256=…"
        onChange={setGot}
      />
      <div role="status" className={shared.region}>
        <Judged got={got} signed={signed} />
      </div>
    </div>
  );
}

function Expected({ prefix, signed }: { prefix: string; signed: Signed }) {
  const expected = useComputed(signed.secret === "" ? null : signed, expectedSignature);
  return (
    <div className={shared.column}>
      <h3 className={shared.small}>Expected {prefix}-Signature</h3>
      {expected ? (
        <Code what="expected signature" text={expected} />
      ) : (
        <p className={classNames(shared.dashed, shared.softSmall)}>
          {canSign
            ? "Paste the signing secret to see it."
            : "This browser computes signatures only on a page served over HTTPS."}
        </p>
      )}
    </div>
  );
}

/** Browsers offer WebCrypto only if the page came over HTTPS or from this machine. */
const canSign = globalThis.crypto?.subtle !== undefined;

/** The result of an asynchronous computation; null until it is there, and while there is no input. */
function useComputed<I, T>(input: I | null, compute: (input: I) => Promise<T>): T | null {
  const [result, setResult] = useState<T | null>(null);
  const inputJson = JSON.stringify(input);
  useEffect(() => {
    let current = true;
    setResult(null);
    if (input !== null && canSign) void compute(input).then((computed) => current && setResult(computed));
    return () => {
      current = false;
    };
  }, [inputJson]);
  return result;
}

function Judged({ got, signed }: { got: string; signed: Signed }) {
  const input = got.trim() === "" || signed.secret === "" ? null : { got, signed };
  const verdict = useComputed(input, (each) => judgeSignature(each.got, each.signed));
  if (!verdict) return null;
  if (verdict.is === "match") return <Notice tone="good" title="It is the right one." />;
  if (verdict.is === "mistake") {
    return (
      <Notice tone="bad" title="It differs, and this is why:">
        <p>{verdict.mistake}</p>
      </Notice>
    );
  }
  return (
    <Notice tone="care" title="It differs.">
      <p>
        None of the usual mistakes explains it. Most likely the secret is another one, here or in the receiver, or the
        receiver signed other bytes than it got.
      </p>
    </Notice>
  );
}
