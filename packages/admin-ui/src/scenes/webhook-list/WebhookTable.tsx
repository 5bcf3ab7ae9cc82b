import type { EndpointOverview } from "@herald/contracts";
import { memo } from "react";
import { Link } from "wouter";
import { useSession } from "../../app/session.tsx";
import { OutcomeBadge, StatusBadge } from "../../common/display/Badge.tsx";
import { outcomeOfSummary } from "../../common/display/delivery-outcome.ts";
import { endpointStatus } from "../../common/display/endpoint-status.ts";
import { HourBars } from "../../common/display/HourBars.tsx";
import { Pips } from "../../common/display/Pips.tsx";
import table from "../../common/display/table.module.css";
import { Time } from "../../common/time/Time.tsx";
import css from "./WebhookTable.module.css";

export function WebhookTable({ webhooks }: { webhooks: readonly EndpointOverview[] }) {
  return (
    <table className={`${table.table} ${css.table}`}>
      <caption className={table.unseen}>Webhooks, by name</caption>
      <thead>
        <tr>
          <th scope="col">Webhook</th>
          <th scope="col">Status</th>
          <th scope="col">Events</th>
          <th scope="col">Failures in a row</th>
          <th scope="col">Last 24 hours</th>
          <th scope="col">Last delivery</th>
        </tr>
      </thead>
      <tbody>
        {webhooks.map((webhook) => (
          <Row key={webhook.id} webhook={webhook} />
        ))}
      </tbody>
    </table>
  );
}

const Row = memo(function Row({ webhook }: { webhook: EndpointOverview }) {
  const { limits } = useSession();
  const status = endpointStatus(webhook);
  const { disableAfterFailures: limit, maxAttempts } = limits;
  return (
    <tr className={table.row} data-hint-scope>
      <th scope="row" className={css.webhook}>
        <Link href={`/webhooks/${webhook.id}`} className={table.rowLink}>
          {webhook.name}
        </Link>
        <span className={css.url}>{webhook.url}</span>
      </th>
      <td data-label="Status" className={css.status}>
        <div className={css.stack}>
          <StatusBadge status={status} failureLimit={limit} />
          {webhook.disabledAtUtc ? (
            <small className={table.faint}>
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
        <HourBars hours={webhook.last24Hours} />
      </td>
      <td data-label="Last delivery">
        {webhook.lastDelivery ? (
          <div className={css.stack}>
            <OutcomeBadge outcome={outcomeOfSummary(webhook.lastDelivery, maxAttempts)} />
            <small className={table.faint}>
              {webhook.lastDelivery.eventType}
              {webhook.lastDelivery.attemptedAtUtc ? (
                <>
                  {", "}
                  <Time iso={webhook.lastDelivery.attemptedAtUtc} />
                </>
              ) : null}
            </small>
          </div>
        ) : (
          <span className={table.faint}>None yet</span>
        )}
      </td>
    </tr>
  );
});

function Events({ names }: { names: readonly string[] }) {
  const [first, ...others] = names;
  return (
    <span className={css.events} data-hint={others.length > 0 ? names.join(", ") : undefined}>
      {first}
      {others.length > 0 ? (
        <>
          <span className={table.faint} aria-hidden="true">
            {` +${others.length}`}
          </span>
          <span className={table.unseen}>, {others.join(", ")}</span>
        </>
      ) : null}
    </span>
  );
}
