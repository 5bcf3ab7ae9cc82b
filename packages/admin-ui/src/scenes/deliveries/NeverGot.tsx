import type { EndpointDetails, Resend } from "@herald/contracts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { filtersInWords, isNarrowed } from "../../api/filters.ts";
import { type PreviewOfResend, resendPreviewQuery, resendsQuery, startResend, stopResend } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { EmptyState, LoadError, NotLoaded } from "../../common/feedback/LoadError.tsx";
import { announce, ChangeProblem, RefreshProblem } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { formats } from "../../common/formats.ts";
import { Confirmation } from "../../common/overlay/Dialog.tsx";
import { FilterBar } from "../../common/page/FilterBar.tsx";
import { NoMatch, useFilters } from "../../common/page/LiveList.tsx";
import { Panel } from "../../common/page/Page.tsx";
import { useManageBlock } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { Time } from "../../common/Time.tsx";
import { useKeys } from "../../common/unsaved.ts";
import css from "./deliveries.module.css";
import { deliveriesIn, progressWords, sizeIn, stateWords } from "./words.ts";

export default function NeverGot({ webhook }: { webhook: EndpointDetails }) {
  const filters = useFilters("never-got");
  const { data: preview, error } = useQuery(resendPreviewQuery(webhook.id, filters));
  const home = `/webhooks/${webhook.id}/never-got`;
  return (
    <div className={shared.stack}>
      <Panel title="What this receiver missed">
        <FilterBar list="never-got" filters={filters} subscribed={webhook.events} home={home} />
        {preview === undefined ? (
          <NotLoaded error={error} what="what the receiver missed" />
        ) : (
          <>
            <RefreshProblem error={error} what="the count" />
            {preview.deliveries > 0 ? (
              <Found webhook={webhook} preview={preview} />
            ) : isNarrowed(filters) ? (
              <NoMatch what="deliveries" home={home} filters={filtersInWords("never-got")} />
            ) : (
              <Nothing held={webhook.unfinished.parked} />
            )}
          </>
        )}
      </Panel>
      <Resends id={webhook.id} />
    </div>
  );
}

/** @param held deliveries that wait for a resume */
function Nothing({ held }: { held: number }) {
  if (held === 0)
    return (
      <EmptyState icon="check" title="Nothing was missed">
        <p>The receiver took every delivery, or it is still tried, or was sent again.</p>
      </EmptyState>
    );
  return (
    <EmptyState icon="pause" title="Nothing was given up so far">
      <p>
        {deliveriesIn(held)} {held === 1 ? "is" : "are"} on hold, and none is tried: a resume sends{" "}
        {held === 1 ? "it" : "them"}.
      </p>
    </EmptyState>
  );
}

function Found({ webhook, preview }: { webhook: EndpointDetails; preview: PreviewOfResend }) {
  const [asking, setAsking] = useState(false);
  const block = useStartBlock(webhook);
  const { deliveries, bytes, oldestAtUtc, newestAtUtc, lookedBackToUtc } = preview;
  return (
    <div className={classNames(shared.top, shared.inset, shared.small)}>
      <div className={shared.words}>
        <p className={shared.lead}>
          {deliveriesIn(deliveries)}{" "}
          {deliveries === 1
            ? "was given up: the receiver did not take it"
            : "were given up: the receiver took none of them"}
          .
        </p>
        <p className={shared.soft}>
          {oldestAtUtc && newestAtUtc
            ? `From ${formats.dateTime(oldestAtUtc)} to ${formats.dateTime(newestAtUtc)}, `
            : ""}
          up to {sizeIn(bytes)} in all.
        </p>
        {lookedBackToUtc ? (
          <p className={shared.soft}>Only the newest are counted, back to {formats.dateTime(lookedBackToUtc)}.</p>
        ) : null}
        <p className={shared.soft}>
          What was sent again already, and events that it is not subscribed to, do not count.
        </p>
      </div>
      <Button kind="primary" icon="send" disabledReason={block} onClick={() => setAsking(true)}>
        Send again…
      </Button>
      {asking ? <StartDialog webhook={webhook} preview={preview} onClose={() => setAsking(false)} /> : null}
    </div>
  );
}

function useStartBlock(webhook: EndpointDetails): string | null {
  const block = useManageBlock();
  const { data } = useQuery(resendsQuery(webhook.id));
  if (block) return block;
  if (!webhook.enabled) return "The webhook is not active: resume it first.";
  const runs = data?.resends.some(({ state }) => state === "running") ?? false;
  return runs ? "Deliveries are being sent again already: wait until that has finished, or stop it." : null;
}

interface Props {
  webhook: EndpointDetails;
  preview: PreviewOfResend;
  onClose: () => void;
}

function StartDialog({ webhook, preview, onClose }: Props) {
  const client = useQueryClient();
  const keys = useKeys();
  const start = useMutation({
    // The request has the filter of the preview, whose period counts back from the time of the preview.
    mutationFn: () => startResend(webhook.id, preview.filter, keys),
    onSuccess: async ({ total }) => {
      await client.invalidateQueries({ queryKey: ["resends", webhook.id] });
      void client.invalidateQueries({ queryKey: ["resend-preview", webhook.id] });
      announce(`${deliveriesIn(total)} to ${webhook.name} are being sent again.`);
      onClose();
    },
    onError: () => client.invalidateQueries({ queryKey: ["resends", webhook.id] }),
  });
  return (
    <Confirmation
      title={`Send ${deliveriesIn(preview.deliveries)} again?`}
      verb="Send again"
      icon="send"
      mutation={start}
      done="sent again"
      onConfirm={() => start.mutate()}
      onClose={onClose}
    >
      <p>Each goes out once more as a new manual delivery, with exactly the same body, oldest first.</p>
      <ul>
        <li>New deliveries have ids of their own: a receiver that looks at them takes each as a new one.</li>
        <li>A few go out at a time, so it takes a while. You can stop it.</li>
        <li>It stops by itself when the webhook is paused, or disabled after failures.</li>
        <li>The old deliveries stay in the history as they are.</li>
      </ul>
    </Confirmation>
  );
}

export function Resends({ id }: { id: string }) {
  const { data, error } = useQuery(resendsQuery(id));
  useEndNoticed(id, data?.resends);
  if (data === undefined) return error ? <LoadError error={error} what="what was sent again" /> : null;
  if (data.resends.length === 0) return null;
  return (
    <Panel title="Sent again">
      <ol className={shared.ruled} aria-label="What was sent again, newest first">
        {data.resends.map((resend) => (
          <Row key={resend.id} id={id} resend={resend} />
        ))}
      </ol>
    </Panel>
  );
}

function Row({ id, resend }: { id: string; resend: Resend }) {
  const client = useQueryClient();
  const block = useManageBlock();
  const stop = useMutation({
    mutationFn: () => stopResend(id, resend.id),
    onSuccess: () => client.invalidateQueries({ queryKey: ["resends", id] }),
  });
  const isRunning = resend.state === "running";
  return (
    <li className={classNames(shared.column, shared.item, shared.small)}>
      <div className={shared.bar}>
        <p>
          <strong>{stateWords(resend)}</strong>: {deliveriesIn(resend.total)}, started by{" "}
          {resend.startedBy ?? "an admin"} <Time iso={resend.startedAtUtc} />
        </p>
        {isRunning ? (
          <Button icon="stop" busy={stop.isPending} disabledReason={block} onClick={() => stop.mutate()}>
            Stop
          </Button>
        ) : null}
      </div>
      {stop.error ? <ChangeProblem error={stop.error} done="stopped" /> : null}
      {isRunning ? (
        <progress className={css.progress} max={resend.total} value={resend.sent} aria-label="Deliveries sent again" />
      ) : null}
      <p>{progressWords(resend)}</p>
    </li>
  );
}

/** When a running resend ends, screen readers say so, and the deliveries that are left are counted again. */
function useEndNoticed(id: string, resends: readonly Resend[] | undefined): void {
  const client = useQueryClient();
  const running = useRef<string | undefined>(undefined);
  useEffect(() => {
    const ended = resends?.find((resend) => resend.id === running.current && resend.state !== "running");
    if (ended) {
      announce(`${stateWords(ended)}. ${progressWords(ended)}`);
      void client.invalidateQueries({ queryKey: ["resend-preview", id] });
    }
    running.current = resends?.find(({ state }) => state === "running")?.id;
  }, [client, id, resends]);
}
