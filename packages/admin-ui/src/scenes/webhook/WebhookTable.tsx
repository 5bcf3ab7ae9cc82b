import type { EndpointOverview } from "@herald/contracts";
import { memo } from "react";
import { Link } from "wouter";
import { OutcomeBadge, Pips, StatusBadge } from "../../common/display/Badge.tsx";
import display from "../../common/display/display.module.css";
import { HourBars } from "../../common/display/hours.tsx";
import { endpointStatus, nextTryWords, outcomeOfSummary } from "../../common/display/status.ts";
import { LiveTable } from "../../common/page/LiveTable.tsx";
import { useSession } from "../../common/session.tsx";
import { useHoverOrFocus, useSteadyRows } from "../../common/steady.ts";
import { Time, useTicking } from "../../common/Time.tsx";
import css from "./webhook.module.css";

interface Props {
  webhooks: readonly EndpointOverview[];
  /** Names the list: what is found by another filter is another list. */
  list: string;
}

/** Rows appear and go, unless the pointer or the focus is in the table; their content is always the newest. */
export function WebhookTable({ webhooks, list }: Props) {
  const hover = useHoverOrFocus();
  const { rows } = useSteadyRows(webhooks, hover.isActive, list);
  return (
    <LiveTable
      caption="Webhooks, by name"
      columns={[
        ["Webhook"],
        ["Status", css.status],
        ["Events", css.names],
        ["Failures in a row", css.failures],
        ["Last 24 hours", css.day],
        ["Last delivery", css.last],
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
    <tr className={display.row} data-hint-scope>
      <th scope="row">
        <Link href={`/webhooks/${webhook.id}`} className={display.rowLink}>
          {webhook.name}
        </Link>
        <span className={css.address}>{webhook.url}</span>
      </th>
      <td data-label="Status">
        <div className={css.webhookTableStack}>
          <StatusBadge status={status} failureLimit={limit} />
          {status === "failing" ? <NextTry webhook={webhook} /> : null}
          {webhook.disabledAtUtc ? (
            <small className={display.faint}>
              <Time iso={webhook.disabledAtUtc} />
            </small>
          ) : null}
        </div>
      </td>
      <td data-label="Events">
        <Events names={webhook.events} />
      </td>
      <td data-label="Failures in a row">
        <Pips
          count={Math.min(webhook.consecutiveFailures, limit)}
          limit={limit}
          words={`${webhook.consecutiveFailures} of ${limit}`}
          caption
        />
      </td>
      <td data-label="Last 24 hours">
        <HourBars hours={webhook.last24Hours} countedSince={webhook.countedSinceUtc} />
      </td>
      <td data-label="Last delivery">
        {webhook.lastDelivery ? (
          <div className={css.webhookTableStack}>
            <span className={css.latest}>
              <OutcomeBadge outcome={outcomeOfSummary(webhook.lastDelivery, maxAttempts, webhook.enabled)} />
              {webhook.lastDelivery.attemptedAtUtc ? (
                <small className={display.faint}>
                  <Time iso={webhook.lastDelivery.attemptedAtUtc} />
                </small>
              ) : null}
            </span>
            <small className={display.faint}>{webhook.lastDelivery.eventType}</small>
          </div>
        ) : (
          <span className={display.faint}>None yet</span>
        )}
      </td>
    </tr>
  );
});

function NextTry({ webhook }: { webhook: EndpointOverview }) {
  const words = useTicking((now) => nextTryWords(webhook, now) ?? "");
  return words ? <small className={display.faint}>{words}</small> : null;
}

function Events({ names }: { names: readonly string[] }) {
  const [first, ...others] = names;
  return (
    <span className={css.eventNames} data-hint={others.length > 0 ? names.join(", ") : undefined}>
      {first}
      {others.length > 0 ? (
        <>
          <span className={display.faint} aria-hidden="true">
            {` +${others.length}`}
          </span>
          <span className={display.unseen}>, {others.join(", ")}</span>
        </>
      ) : null}
    </span>
  );
}
