import type { DeliverRequest, EndpointDetails, EventTypeInfo } from "@herald/contracts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useSearch } from "wouter";
import { ApiProblem, type Keys, problemsOf } from "../../api/client.ts";
import { deliverManually, deliveryQuery, eventTypesQuery, refresh } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { Icon } from "../../common/display/Icon.tsx";
import { NotLoaded } from "../../common/feedback/LoadError.tsx";
import { ChangeProblem, Notice } from "../../common/feedback/Notice.tsx";
import { Button, ButtonLink } from "../../common/form/Button.tsx";
import { Field, Select } from "../../common/form/Field.tsx";
import controls from "../../common/form/form.module.css";
import { formats } from "../../common/formats.ts";
import { checkJson } from "../../common/json.ts";
import { Panel, usePageTitle } from "../../common/page/Page.tsx";
import { useManageBlock, useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { useKept, useKeys, useUnsaved } from "../../common/unsaved.ts";
import { DeliveryResult } from "./Sample.tsx";

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
    <Panel title="Manual delivery" padded>
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
      ) : (
        <NotLoaded error={failed} what={older.error ? "the delivery to send again" : "the samples"} />
      )}
    </Panel>
  );
}

interface Props {
  webhook: EndpointDetails;
  samples: readonly EventTypeInfo[];
  /** The content of an older delivery, character for character. */
  start: DeliverRequest | null;
}

export function ManualForm({ webhook, samples, start }: Props) {
  const { limits } = useSession();
  const sampleOf = (type: string): string => samples.find(({ name }) => name === type)?.sample ?? "{}";
  const choices = samples.map(({ name }) => name).filter((type) => webhook.events.includes(type));
  const first = start && choices.includes(start.eventType) ? start.eventType : (choices[0] ?? "");
  const place = `manual/${webhook.id}/${start?.payloadJson}`;
  const before = useUnsaved<DeliverRequest & { keys: Keys }>(place);
  const [eventType, setEventType] = useState(before.eventType ?? first);
  // Kept apart from the text area, which would turn each CRLF into an LF: an unedited body is sent unchanged.
  const [payloadJson, setPayloadJson] = useState(before.payloadJson ?? start?.payloadJson ?? sampleOf(first));
  const [edited, setEdited] = useState(start !== null || before.payloadJson !== undefined);
  const [kept, setKept] = useState(start?.payloadJson);
  const keys = useKeys(before.keys);
  const wouldBeLost = keys.size > 0 || (edited && payloadJson !== kept);
  useKept(place, wouldBeLost ? { eventType, payloadJson, keys } : null);
  const check = checkJson(payloadJson, limits.payloadBytes);
  const block = useBlock(webhook, check.problem);

  const client = useQueryClient();
  const send = useMutation({
    mutationFn: (body: DeliverRequest) => deliverManually(webhook.id, body, keys),
    onSuccess: (_summary, body) => setKept(body.payloadJson),
    onSettled: () => void refresh(client, webhook.id),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (block === null && !send.isPending) send.mutate({ eventType, payloadJson });
  };
  const choose = (type: string): void => {
    setEventType(type);
    if (!edited) setPayloadJson(sampleOf(type));
  };
  const startAgain = (): void => {
    setPayloadJson(sampleOf(eventType));
    setEdited(false);
  };
  const refused = send.error instanceof ApiProblem ? (send.error.problem.errors ?? []) : [];
  return (
    <form className={shared.stack} onSubmit={submit} noValidate>
      <p className={shared.softSmall}>
        Sends JSON of your own, signed like any delivery but without an event's envelope, so also without its id.
        Nothing in your product changes.
      </p>
      <Field
        label="Event"
        problems={problemsOf(refused, "eventType").map(({ detail }) => detail)}
        hint="Only what the webhook is subscribed to."
      >
        {(attributes) => (
          <Select {...attributes} value={eventType} onChange={({ target }) => choose(target.value)}>
            {choices.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </Select>
        )}
      </Field>
      <Field
        label="JSON to send"
        problems={[
          ...(check.problem ? [check.problem] : []),
          ...problemsOf(refused, "payloadJson").map(({ detail }) => detail),
        ]}
        hint={
          <>
            {formats.number(check.bytes)} of {formats.number(limits.payloadBytes)} bytes. It is sent exactly as it
            stands here.
            <div className={shared.region} role="status">
              {check.repeated ? (
                <p className={classNames(shared.iconed, shared.strong)}>
                  <Icon name="alert" size={14} />
                  An object has the same name twice: look at {check.repeated}. Many receivers keep only the last value.
                </p>
              ) : null}
            </div>
          </>
        }
      >
        {(attributes) => (
          <textarea
            {...attributes}
            className={controls.textarea}
            value={payloadJson}
            onChange={({ target }) => {
              setPayloadJson(target.value);
              setEdited(true);
            }}
            spellCheck={false}
            autoCapitalize="off"
            rows={14}
          />
        )}
      </Field>
      <div className={shared.row}>
        <Button kind="primary" icon="send" type="submit" busy={send.isPending} disabledReason={block}>
          {send.isPending ? "Sending…" : "Send manual delivery"}
        </Button>
        {edited ? <Button onClick={startAgain}>Start from the sample of {eventType}</Button> : null}
        {block ? <span className={shared.softSmall}>{block}</span> : null}
      </div>
      <div className={shared.region} role="status">
        {send.error ? <ChangeProblem error={send.error} done="sent" /> : null}
        {send.data && !send.isPending ? (
          <DeliveryResult
            summary={send.data}
            actions={
              <ButtonLink href={`/webhooks/${webhook.id}/deliveries/${send.data.id}`}>Show the delivery</ButtonLink>
            }
          />
        ) : null}
      </div>
    </form>
  );
}

function useBlock(webhook: EndpointDetails, problem: string | null): string | null {
  const mayNot = useManageBlock();
  if (mayNot) return mayNot;
  if (!webhook.enabled)
    return "The webhook is not active. Resume it first: only active webhooks take manual deliveries.";
  return problem === null ? null : "Correct the JSON first.";
}
