import type { EndpointOverview } from "@herald/contracts";
import { memo } from "react";
import { Link } from "wouter";
import { classNames } from "../../common/class-names.ts";
import { OutcomeBadge, Pips, StatusBadge } from "../../common/display/Badge.tsx";
import { HourBars } from "../../common/display/hours.tsx";
import { endpointStatus, nextTryWords, outcomeOfSummary } from "../../common/display/status.ts";
import { LiveTable } from "../../common/page/LiveTable.tsx";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { useHoverOrFocus, useSteadyRows } from "../../common/steady.ts";
import { Time, useTicking } from "../../common/Time.tsx";
import css from "./webhook.module.css";

/** Rows appear and go, unless the pointer or the focus is in the table; their content is always the newest. */
export function WebhookTable({ webhooks, list }: { webhooks: readonly EndpointOverview[]; list: string }) {
  const hover = useHoverOrFocus();
  const { rows } = useSteadyRows(webhooks, hover.isActive, list);
  return (
    <LiveTable
      caption="Webhooks, broken ones first, then by name"
      columns={[
        ["Webhook"],
        ["Status", "13.125rem"],
        ["Events", "11.5rem"],
        ["Failures in a row", "7.75rem"],
        ["Last 24 hours", "9.125rem"],
        ["Last delivery", "13rem"],
      ]}
      className={css.table}
      hover={hover}
    >
      {rows.map((webhook) => (
        <Row key={webhook.id} webhook={webhook} />
      ))}
    </LiveTable>
  );
}

const Row = memo(function Row({ webhook }: { webhook: EndpointOverview }) {
  const { limits } = useSession();
  const status = endpointStatus(webhook);
  const { disableAfterFailures: limit, maxAttempts } = limits;
  return (
    <tr className={shared.tableRow} data-hint-scope>
      <th scope="row">
        <Link href={`/webhooks/${webhook.id}`} className={shared.rowLink}>
          {webhook.name}
        </Link>
        <span className={classNames(shared.faint, css.address)}>{webhook.url}</span>
      </th>
      <td data-label="Status">
        <div className={css.pair}>
          <StatusBadge status={status} />
          {status === "failing" ? <NextTry webhook={webhook} /> : null}
          {webhook.disabledAtUtc ? (
            <small className={shared.faint}>
              <Time iso={webhook.disabledAtUtc} />
            </small>
          ) : null}
        </div>
      </td>
      <td data-label="Events">
        <Events names={webhook.events} />
      </td>
      <td data-label="Failures in a row">
        <Pips count={webhook.consecutiveFailures} limit={limit} />
      </td>
      <td data-label="Last 24 hours">
        <HourBars hours={webhook.last24Hours} countedSince={webhook.countedSinceUtc} />
      </td>
      <td data-label="Last delivery">
        {webhook.lastDelivery ? (
          <div className={css.pair}>
            <span className={css.latest}>
              <OutcomeBadge
                outcome={outcomeOfSummary(webhook.lastDelivery, maxAttempts, webhook.enabled)}
                attempts={webhook.lastDelivery.attemptCount}
              />
              {webhook.lastDelivery.attemptedAtUtc ? (
                <small className={shared.faint}>
                  <Time iso={webhook.lastDelivery.attemptedAtUtc} />
                </small>
              ) : null}
            </span>
            <small className={shared.faint}>{webhook.lastDelivery.eventType}</small>
          </div>
        ) : (
          <span className={shared.faint}>None yet</span>
        )}
      </td>
    </tr>
  );
});

function NextTry({ webhook }: { webhook: EndpointOverview }) {
  const words = useTicking((now) => nextTryWords(webhook, now) ?? "");
  return words ? <small className={shared.faint}>{words}</small> : null;
}

function Events({ names }: { names: readonly string[] }) {
  const [first, ...others] = names;
  return (
    <span data-hint={others.length > 0 ? names.join(", ") : undefined}>
      {first}
      {others.length > 0 ? (
        <>
          <span className={shared.faint} aria-hidden="true">
            {` +${others.length}`}
          </span>
          <span className={shared.unseen}>, {others.join(", ")}</span>
        </>
      ) : null}
    </span>
  );
}
