import type { EndpointDetails } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "wouter";
import { deliveryQuery, eventTypesQuery } from "../../api/queries.ts";
import { LoadError } from "../../common/feedback/LoadError.tsx";
import { Notice } from "../../common/feedback/Notice.tsx";
import { Skeleton } from "../../common/feedback/Skeleton.tsx";
import { usePageTitle } from "../../common/page/PageHead.tsx";
import { Panel } from "../../common/page/Panel.tsx";
import { ManualForm } from "./ManualForm.tsx";

/** Sends JSON by hand: a sample of an event to edit, or what an older delivery carried. */
export default function ManualDelivery({ webhook }: { webhook: EndpointDetails }) {
  usePageTitle(`Manual delivery · ${webhook.name}`, 1);
  const again = new URLSearchParams(useSearch()).get("delivery");
  const samples = useQuery(eventTypesQuery);
  const older = useQuery({
    ...deliveryQuery(webhook.id, again ?? ""),
    enabled: again !== null,
    refetchInterval: false,
  });
  const failed = samples.error ?? (again === null ? null : older.error);
  const ready = samples.data && (again === null || older.data);
  const olderType = older.data?.eventType;
  return (
    <Panel title="Manual delivery" padded narrow>
      {ready ? (
        <>
          {olderType && !webhook.events.includes(olderType) ? (
            <Notice tone="care" title={`The webhook is not subscribed to ${olderType} any more.`}>
              <p>Subscribe to it again in the settings, or send the body as another event.</p>
            </Notice>
          ) : null}
          <ManualForm
            key={again}
            webhook={webhook}
            samples={samples.data}
            start={
              older.data && olderType !== undefined ? { eventType: olderType, payloadJson: older.data.body } : null
            }
          />
        </>
      ) : failed ? (
        <LoadError error={failed} what={samples.error ? "the samples" : "the delivery to send again"} level={2} />
      ) : (
        <Skeleton rows={4} what="the form" />
      )}
    </Panel>
  );
}
