import type { DeliveryAttemptInfo, DeliveryDetails, EndpointDetails } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { deliveryQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import { Body } from "../../common/display/Body.tsx";
import { Code, CopiedId, Copy } from "../../common/display/Code.tsx";
import { Icon } from "../../common/display/Icon.tsx";
import { besideStatus, expiredWords, meaningOf, nextTryOf, outcomeWords } from "../../common/display/status.ts";
import { NotLoaded } from "../../common/feedback/LoadError.tsx";
import { announce } from "../../common/feedback/Notice.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { counted, duration } from "../../common/formats.ts";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import { Facts, usePageTitle } from "../../common/page/Page.tsx";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { Moment, Time } from "../../common/Time.tsx";
import { NextAttempt } from "./DeliveryTable.tsx";
import css from "./deliveries.module.css";
import { supportText } from "./words.ts";

interface Props {
  webhook: EndpointDetails;
  deliveryId: string;
  onClose: () => void;
}

/** One delivery in full. It has its own address, so that a link to it can be shared. */
export function DeliveryDrawer({ webhook, deliveryId, onClose }: Props) {
  const { data: delivery, error } = useQuery(deliveryQuery(webhook.id, deliveryId));
  const title = delivery ? `${delivery.eventType} delivery` : "Delivery";
  usePageTitle(`${title} · ${webhook.name}`, 1);
  useOutcomeAnnounced(delivery);
  return (
    <Dialog
      shape="drawer"
      title={title}
      aside={delivery ? <OutcomeBadge outcome={delivery.outcome} attempts={delivery.attemptCount} /> : null}
      onClose={onClose}
      actions={delivery ? <Actions webhook={webhook} delivery={delivery} /> : null}
    >
      <div className={shared.loose}>
        {delivery ? (
          <>
            <Summary webhook={webhook} delivery={delivery} />
            <Attempts delivery={delivery} />
            <section className={shared.column} aria-labelledby="delivery-body">
              <div className={shared.row}>
                <h3 id="delivery-body">Body</h3>
                <span className={shared.faint}>
                  {counted(new TextEncoder().encode(delivery.body).length, "byte", "bytes")} of UTF-8, the same on every
                  attempt
                </span>
              </div>
              <Body text={delivery.body} />
            </section>
          </>
        ) : (
          <NotLoaded error={error} what="the delivery" />
        )}
      </div>
    </Dialog>
  );
}

function Summary({ webhook, delivery }: { webhook: EndpointDetails; delivery: DeliveryDetails }) {
  const { limits } = useSession();
  const { id, outcome, businessEventId, entityId, createdAtUtc, resendOf, author } = delivery;
  const goesOn = delivery.inFlight || outcome === "parked" || delivery.nextAttemptAtUtc !== null;
  return (
    <Facts
      facts={{
        Outcome: outcome === "expired" ? expiredWords(limits.retentionDays) : meaningOf(outcome),
        Attempts: `${delivery.attemptCount} of ${limits.maxAttempts}`,
        "Next attempt": goesOn ? <NextAttempt delivery={delivery} nextTry={nextTryOf(webhook)} /> : null,
        "Delivery id": <CopiedId id={id} what="delivery id" />,
        "Business event":
          businessEventId === undefined ? (
            "None: a manual delivery"
          ) : (
            <IdLink href={`/search?q=${businessEventId}`} id={businessEventId} />
          ),
        Entity: entityId === null ? null : <IdLink href={`/search?q=${entityId}`} id={entityId} />,
        "Sends again":
          resendOf === null ? null : <IdLink href={`/webhooks/${webhook.id}/deliveries/${resendOf}`} id={resendOf} />,
        "Sent by": author,
        Created: (
          <>
            <Moment iso={createdAtUtc} /> (<Time iso={createdAtUtc} />)
          </>
        ),
      }}
    />
  );
}

function IdLink({ href, id }: { href: string; id: string }) {
  return (
    <Link className={css.link} href={href}>
      <code>{id}</code>
    </Link>
  );
}

function Actions({ webhook, delivery }: { webhook: EndpointDetails; delivery: DeliveryDetails }) {
  return (
    <>
      <Copy text={supportText(webhook.name, delivery)} what="for support" />
      {delivery.attempts.length > 0 ? (
        <ButtonLink icon="key" href={`/webhooks/${webhook.id}/signature?delivery=${delivery.id}`}>
          Check signature
        </ButtonLink>
      ) : null}
      <ButtonLink
        kind={delivery.outcome === "parked" ? "secondary" : "primary"}
        icon="send"
        href={`/webhooks/${webhook.id}/manual?delivery=${delivery.id}`}
      >
        Send again as manual delivery
      </ButtonLink>
    </>
  );
}

function useOutcomeAnnounced(delivery: DeliveryDetails | undefined): void {
  const outcome = delivery?.outcome;
  const before = useRef(outcome);
  useEffect(() => {
    if (outcome && before.current && outcome !== before.current)
      announce(`The delivery is now: ${outcomeWords[outcome]}.`);
    before.current = outcome;
  }, [outcome]);
}

export function Attempts({ delivery }: { delivery: DeliveryDetails }) {
  const latestFirst = delivery.attempts.toReversed();
  return (
    <section className={shared.column} aria-labelledby="delivery-attempts">
      <h3 id="delivery-attempts">Attempts</h3>
      {latestFirst.length === 0 ? (
        <p className={shared.softSmall}>None yet.</p>
      ) : (
        <ol className={classNames(shared.boxed, shared.ruled)} reversed>
          {latestFirst.map((attempt, index) => (
            <li key={attempt.number}>
              <details open={index === 0}>
                <summary className={classNames(shared.row, shared.small, css.attemptSummary)}>
                  <AttemptSummary attempt={attempt} />
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

function AttemptSummary({ attempt }: { attempt: DeliveryAttemptInfo }) {
  const good = attempt.statusCode >= 200 && attempt.statusCode < 300;
  const beside = besideStatus(attempt.statusCode, attempt.errorSummary);
  return (
    <>
      <span className={classNames(css.result, shared.strong, good ? shared.good : shared.bad)}>
        <Icon name={good ? "check" : "stop"} size={14} />
        {attempt.statusCode}
      </span>
      <span className={css.attemptWords}>
        Attempt {attempt.number}
        {beside ? `: ${beside}` : ""}
      </span>
      <span className={shared.soft}>
        {duration(attempt.durationMs)}, <Time iso={attempt.attemptedAtUtc} />
      </span>
    </>
  );
}

function noResponse({ statusCode }: DeliveryAttemptInfo): string {
  return statusCode === 401 || statusCode === 403
    ? "There was none, or it is not kept: such an answer may repeat the webhook's own headers."
    : "There was none.";
}

function Detail({ attempt }: { attempt: DeliveryAttemptInfo }) {
  // Nothing says with which trace context an interrupted attempt was sent.
  const trace = attempt.failureKind === "interrupted" ? ", trace context" : "";
  const headers = attempt.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  return (
    <div className={classNames(shared.column, css.detail)}>
      <p className={shared.note}>
        <Moment iso={attempt.attemptedAtUtc} milliseconds />
      </p>
      <h4>Request headers, but for Host, signatures{trace} and own headers, which are not kept</h4>
      <Code what={`request headers of attempt ${attempt.number}`} text={headers} />
      <h4>Response, its first KiB</h4>
      {attempt.responseExcerpt ? (
        <Code what={`response to attempt ${attempt.number}`} text={attempt.responseExcerpt} />
      ) : (
        <p className={shared.softSmall}>
          {attempt.responseExcerpt === "" ? "It had an empty body." : noResponse(attempt)}
        </p>
      )}
    </div>
  );
}
