import type { EndpointDetails, WebhookDeliverySummary } from "@herald/contracts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { deliverManually, deliveryQuery, eventTypesQuery, refresh } from "../../api/queries.ts";
import { Code } from "../../common/display/Code.tsx";
import { ChangeProblem, Notice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { useKeys } from "../../common/unsaved.ts";
import { resultWords } from "./words.ts";

export function DeliveryResult({ summary, actions }: { summary: WebhookDeliverySummary; actions?: ReactNode }) {
  const { limits } = useSession();
  const { tone, title, text } = resultWords(summary, limits.maxAttempts);
  return (
    <Notice tone={tone} title={title} actions={actions}>
      <p>{text}</p>
    </Notice>
  );
}

export function SendSample({ webhook: { id, events } }: { webhook: EndpointDetails }) {
  const client = useQueryClient();
  const keys = useKeys();
  const { data: types } = useQuery(eventTypesQuery);
  const eventType = events[0] ?? "";
  const payloadJson = types?.find(({ name }) => name === eventType)?.sample ?? "{}";
  const send = useMutation({
    mutationFn: () => deliverManually(id, { eventType, payloadJson }, keys),
    onSettled: () => refresh(client, id),
  });
  const failed = send.data?.succeeded === false && send.data.attemptCount > 0;
  const { data: delivery } = useQuery({ ...deliveryQuery(id, send.data?.id ?? ""), enabled: failed });
  const answer = failed ? delivery?.attempts.at(-1)?.responseExcerpt : null;
  return (
    <div className={shared.column}>
      <div className={shared.row}>
        <Button icon="send" busy={!types || send.isPending} onClick={() => send.mutate()}>
          {send.isPending ? "Sending…" : "Send a sample"}
        </Button>
        <span className={shared.softSmall}>
          When your receiver has the secret: the sample of {eventType}, as a manual delivery.
        </span>
      </div>
      <div className={shared.region} role="status">
        {send.error ? <ChangeProblem error={send.error} done="sent" /> : null}
        {send.data && !send.isPending ? <DeliveryResult summary={send.data} /> : null}
        {answer && !send.isPending ? (
          <div className={shared.column}>
            <p className={shared.softSmall}>The receiver answered:</p>
            <Code what="the receiver's answer" text={answer} />
          </div>
        ) : null}
      </div>
    </div>
  );
}
