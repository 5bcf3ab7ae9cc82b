import type { EndpointDelivery } from "@herald/contracts";
import { Link } from "wouter";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import { besideStatus, outcomeOf } from "../../common/display/delivery-outcome.ts";
import { Time } from "../../common/time/Time.tsx";
import css from "./event.module.css";
import { reasonWords } from "./reason-words.ts";

/** What became of an event at each webhook: its delivery, or why it has none. */
export function DeliveryResults({ results }: { results: readonly EndpointDelivery[] }) {
  if (results.length === 0) return <p className={css.sentence}>Your organization has no webhook.</p>;
  return (
    <ul className={css.results}>
      {results.map((result) => (
        <li key={result.endpointId} className={css.result}>
          <Result result={result} />
        </li>
      ))}
    </ul>
  );
}

function Result({ result: { endpointId, endpointName, delivery, reason } }: { result: EndpointDelivery }) {
  if (delivery) {
    const { statusCode, errorSummary } = delivery;
    return (
      <>
        <Link href={`/webhooks/${endpointId}/deliveries/${delivery.id}`}>{endpointName}</Link>
        <OutcomeBadge outcome={outcomeOf(delivery)} />
        <span className={css.sentence}>
          {statusCode === null
            ? "No attempt has been made yet"
            : `${statusCode} ${besideStatus(statusCode, errorSummary)}`.trim()}
          {delivery.attemptedAtUtc ? (
            <>
              , <Time iso={delivery.attemptedAtUtc} />
            </>
          ) : null}
        </span>
      </>
    );
  }
  const words = reason && reasonWords(reason);
  return (
    <>
      <Link href={`/webhooks/${endpointId}`}>{endpointName}</Link>
      <strong className={css.reason}>{words?.short}</strong>
      <span className={css.sentence}>{words?.sentence}</span>
    </>
  );
}
