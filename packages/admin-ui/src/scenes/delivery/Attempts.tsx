import type { DeliveryAttemptInfo, DeliveryDetails } from "@herald/contracts";
import { classNames } from "../../common/class-names.ts";
import { Code } from "../../common/display/Code.tsx";
import { besideStatus } from "../../common/display/delivery-outcome.ts";
import { Icon } from "../../common/display/Icon.tsx";
import { Moment, Time } from "../../common/time/Time.tsx";
import { duration } from "../../common/time/words.ts";
import css from "./delivery.module.css";

/** Every attempt of a delivery, the latest first and open. */
export function Attempts({ delivery }: { delivery: DeliveryDetails }) {
  const latestFirst = delivery.attempts.toReversed();
  return (
    <section className={css.section} aria-labelledby="delivery-attempts">
      <h3 id="delivery-attempts">Attempts</h3>
      {latestFirst.length === 0 ? (
        <p className={css.none}>None yet.</p>
      ) : (
        <ol className={css.list} reversed>
          {latestFirst.map((attempt, index) => (
            <li key={attempt.number} className={css.attempt}>
              <details open={index === 0}>
                <summary className={css.summary}>
                  <Summary attempt={attempt} />
                </summary>
                <Detail attempt={attempt} />
              </details>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function succeeded({ statusCode }: DeliveryAttemptInfo): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function Summary({ attempt }: { attempt: DeliveryAttemptInfo }) {
  const good = succeeded(attempt);
  const beside = besideStatus(attempt.statusCode, attempt.errorSummary);
  return (
    <>
      <span className={classNames(css.result, good ? css.good : css.bad)}>
        <Icon name={good ? "check" : "stop"} size={14} />
        {attempt.statusCode}
      </span>
      <span className={css.words}>
        Attempt {attempt.number}
        {beside ? `: ${beside}` : ""}
      </span>
      <span className={css.when}>
        {duration(attempt.durationMs)}, <Time iso={attempt.attemptedAtUtc} />
      </span>
    </>
  );
}

function Detail({ attempt }: { attempt: DeliveryAttemptInfo }) {
  // Nothing says with which trace context an interrupted attempt was sent.
  const notKept = attempt.failureKind === "interrupted" ? "Host, signatures and trace context" : "Host and signatures";
  const headers = attempt.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  return (
    <div className={css.detail}>
      <p className={css.exact}>
        <Moment iso={attempt.attemptedAtUtc} milliseconds />
      </p>
      <h4>Request headers, but for {notKept}, which are not kept</h4>
      <Code what={`request headers of attempt ${attempt.number}`} text={headers} />
      <h4>Response, its first KiB</h4>
      {attempt.responseExcerpt ? (
        <Code what={`response to attempt ${attempt.number}`} text={attempt.responseExcerpt} />
      ) : (
        <p className={css.none}>{attempt.responseExcerpt === "" ? "It had an empty body." : "There was none."}</p>
      )}
    </div>
  );
}
