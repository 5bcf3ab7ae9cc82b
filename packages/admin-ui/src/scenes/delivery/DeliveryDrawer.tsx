import type { DeliveryDetails, DeliveryListItem, EndpointDetails } from "@herald/contracts";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";
import { deliveryQuery, listedDelivery } from "../../api/queries.ts";
import { OutcomeBadge } from "../../common/display/Badge.tsx";
import { Code } from "../../common/display/Code.tsx";
import { Copy } from "../../common/display/Copy.tsx";
import { expiredWords, outcomeMeaning, outcomeOf, outcomeWords } from "../../common/display/delivery-outcome.ts";
import { Facts } from "../../common/display/Facts.tsx";
import { announce } from "../../common/feedback/announce.ts";
import { LoadError } from "../../common/feedback/LoadError.tsx";
import { Skeleton } from "../../common/feedback/Skeleton.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { formats } from "../../common/formats.ts";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import { usePageTitle } from "../../common/page/PageHead.tsx";
import { useSession } from "../../common/session.tsx";
import { Moment, Time } from "../../common/time/Time.tsx";
import { NextAttempt } from "../deliveries/DeliveryTable.tsx";
import { Attempts } from "./Attempts.tsx";
import css from "./delivery.module.css";
import { supportText } from "./support-text.ts";

interface Props {
  webhook: EndpointDetails;
  deliveryId: string;
  onClose: () => void;
}

/** One delivery in full. It has its own address, so that a link to it can be shared. */
export function DeliveryDrawer({ webhook, deliveryId, onClose }: Props) {
  const client = useQueryClient();
  const { data: delivery, error } = useQuery(deliveryQuery(webhook.id, deliveryId));
  const known = delivery ?? listedDelivery(client, deliveryId);
  const title = known ? `${known.eventType} delivery` : "Delivery";
  usePageTitle(`${title} · ${webhook.name}`, 1);
  useOutcomeAnnounced(delivery);
  return (
    <Dialog
      shape="drawer"
      title={title}
      aside={known ? <OutcomeBadge outcome={outcomeOf(known)} /> : null}
      onClose={onClose}
      actions={delivery ? <Actions webhook={webhook} delivery={delivery} /> : null}
    >
      <div className={css.content}>
        {known ? (
          <Summary
            delivery={known}
            enabled={webhook.enabled}
            resendOf={delivery?.resendOf ?? null}
            author={delivery?.author ?? null}
            webhookId={webhook.id}
          />
        ) : null}
        {delivery ? (
          <>
            <Attempts delivery={delivery} />
            <section className={css.part} aria-labelledby="delivery-body">
              <div className={css.partHead}>
                <h3 id="delivery-body">Body, as sent</h3>
                <span className={css.note}>{bytes(delivery.body)} of UTF-8, the same on every attempt</span>
              </div>
              <Code what="body" text={delivery.body} tall />
            </section>
          </>
        ) : error ? (
          <LoadError error={error} what="the delivery" level={2} />
        ) : (
          <Skeleton rows={4} what="the delivery" />
        )}
      </div>
    </Dialog>
  );
}

interface SummaryProps {
  delivery: DeliveryListItem;
  enabled: boolean;
  webhookId: string;
  /** The delivery that this one sends again. */
  resendOf: string | null;
  /** Who sent it, or started its resend. */
  author: string | null;
}

function Summary({ delivery, enabled, webhookId, resendOf, author }: SummaryProps) {
  const { limits } = useSession();
  const outcome = outcomeOf(delivery);
  const next =
    delivery.inFlight || delivery.state === "parked" || delivery.nextAttemptAtUtc
      ? ([["Next attempt", <NextAttempt key="next" delivery={delivery} enabled={enabled} />]] satisfies [
          string,
          React.ReactNode,
        ][])
      : [];
  return (
    <Facts
      facts={[
        ["Outcome", outcome === "expired" ? expiredWords(limits.retentionDays) : outcomeMeaning[outcome]],
        ["Attempts", `${delivery.attemptCount} of ${limits.maxAttempts}`],
        ...next,
        [
          "Delivery id",
          <span key="id" className={css.id}>
            <code>{delivery.id}</code>
            <Copy text={delivery.id} what="delivery id" small />
          </span>,
        ],
        [
          "Business event",
          delivery.businessEventId === undefined ? (
            "None: a manual delivery"
          ) : (
            <Link key="event" className={css.link} href={`/search?q=${delivery.businessEventId}`}>
              <code>{delivery.businessEventId}</code>
            </Link>
          ),
        ],
        ...(delivery.entityId === null
          ? []
          : [
              [
                "Entity",
                <Link key="entity" className={css.link} href={`/search?q=${delivery.entityId}`}>
                  <code>{delivery.entityId}</code>
                </Link>,
              ] satisfies Fact,
            ]),
        ...(resendOf === null
          ? []
          : [["Sends again", <Earlier key="again" webhookId={webhookId} id={resendOf} />] satisfies Fact]),
        ...(author === null ? [] : [["Sent by", author] satisfies Fact]),
        [
          "Created",
          <span key="created">
            <Moment iso={delivery.createdAtUtc} /> (<Time iso={delivery.createdAtUtc} />)
          </span>,
        ],
      ]}
    />
  );
}

type Fact = [string, ReactNode];

function Earlier({ webhookId, id }: { webhookId: string; id: string }) {
  return (
    <Link href={`/webhooks/${webhookId}/deliveries/${id}`}>
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
      <ButtonLink kind="primary" icon="send" href={`/webhooks/${webhook.id}/manual?delivery=${delivery.id}`}>
        Send again as manual delivery
      </ButtonLink>
    </>
  );
}

function useOutcomeAnnounced(delivery: DeliveryDetails | undefined): void {
  const outcome = delivery && outcomeOf(delivery);
  const before = useRef(outcome);
  useEffect(() => {
    if (outcome && before.current && outcome !== before.current)
      announce(`The delivery is now: ${outcomeWords[outcome]}.`);
    before.current = outcome;
  }, [outcome]);
}

function bytes(text: string): string {
  const size = new TextEncoder().encode(text).length;
  return size === 1 ? "1 byte" : `${formats.number(size)} bytes`;
}
