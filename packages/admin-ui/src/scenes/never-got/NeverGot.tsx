import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useSearch } from "wouter";
import { filtersFromSearch, isNarrowed } from "../../api/delivery-filters.ts";
import { type PreviewOfResend, resendPreviewQuery, resendsQuery, startResend } from "../../api/queries.ts";
import { announce } from "../../common/feedback/announce.ts";
import { EmptyState } from "../../common/feedback/EmptyState.tsx";
import { LoadError } from "../../common/feedback/LoadError.tsx";
import { ProblemNotice, RefreshProblem } from "../../common/feedback/Notice.tsx";
import { Skeleton } from "../../common/feedback/Skeleton.tsx";
import { Button, ButtonLink } from "../../common/form/Button.tsx";
import { formats } from "../../common/formats.ts";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import { Panel, Stack } from "../../common/page/Panel.tsx";
import { useManageBlock } from "../../common/session.tsx";
import { DeliveryFilterBar } from "../deliveries/DeliveryFilterBar.tsx";
import dialogs from "../webhook/webhook.module.css";
import css from "./NeverGot.module.css";
import { Resends } from "./Resends.tsx";
import { deliveriesIn, sizeIn } from "./resend-words.ts";

/** What a webhook's receiver never got, and sending it again. */
export default function NeverGot({ webhook }: { webhook: EndpointDetails }) {
  const search = useSearch();
  const filters = useMemo(
    () => ({ ...filtersFromSearch(new URLSearchParams(search)), outcomes: [], webhook: null, idPrefix: null }),
    [search],
  );
  const { data: preview, error } = useQuery(resendPreviewQuery(webhook.id, filters));
  const home = `/webhooks/${webhook.id}/never-got`;
  return (
    <Stack>
      <Panel title="What this receiver never got">
        <DeliveryFilterBar filters={filters} subscribed={webhook.events} home={home} fields={["status"]} />
        {preview === undefined ? (
          error ? (
            <LoadError error={error} what="what the receiver never got" level={2} />
          ) : (
            <Skeleton rows={2} what="what the receiver never got" />
          )
        ) : (
          <>
            <RefreshProblem error={error} what="the count" />
            {preview.deliveries > 0 ? (
              <Found webhook={webhook} preview={preview} />
            ) : (
              <Nothing narrowed={isNarrowed(filters)} home={home} />
            )}
          </>
        )}
      </Panel>
      <Resends id={webhook.id} />
    </Stack>
  );
}

function Found({ webhook, preview }: { webhook: EndpointDetails; preview: PreviewOfResend }) {
  const [asking, setAsking] = useState(false);
  const block = useStartBlock(webhook);
  const { deliveries, bytes, oldestAtUtc, newestAtUtc, lookedBackToUtc } = preview;
  return (
    <div className={css.found}>
      <div className={css.words}>
        <p className={css.lead}>
          {deliveriesIn(deliveries)}{" "}
          {deliveries === 1
            ? "was given up: the receiver did not take it"
            : "were given up: the receiver took none of them"}
          .
        </p>
        <p className={css.note}>
          {oldestAtUtc && newestAtUtc
            ? `From ${formats.dateTime(oldestAtUtc)} to ${formats.dateTime(newestAtUtc)}, `
            : ""}
          up to {sizeIn(bytes)} in all.
        </p>
        {lookedBackToUtc ? (
          <p className={css.note}>Only the newest are counted, back to {formats.dateTime(lookedBackToUtc)}.</p>
        ) : null}
        <p className={css.note}>What was sent again already, and events that it is not subscribed to, do not count.</p>
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

function Nothing({ narrowed, home }: { narrowed: boolean; home: string }) {
  if (narrowed) {
    return (
      <EmptyState icon="search" title="Nothing matches" action={<ButtonLink href={home}>Show all</ButtonLink>}>
        <p>Choose another event, status or period.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="check" title="Nothing was given up">
      <p>The receiver took every delivery, or it is still tried, or was sent again.</p>
    </EmptyState>
  );
}

interface Props {
  webhook: EndpointDetails;
  preview: PreviewOfResend;
  onClose: () => void;
}

/** Says what sending again does, before it is done. */
export function StartDialog({ webhook, preview, onClose }: Props) {
  const client = useQueryClient();
  const start = useMutation({
    // With the filter that the preview was made for: a period counts back from then.
    mutationFn: () => startResend(webhook.id, preview.filter),
    onSuccess: async ({ total }) => {
      await client.invalidateQueries({ queryKey: ["resends", webhook.id] });
      void client.invalidateQueries({ queryKey: ["resend-preview", webhook.id] });
      announce(`${deliveriesIn(total)} to ${webhook.name} are being sent again.`);
      onClose();
    },
    onError: () => client.invalidateQueries({ queryKey: ["resends", webhook.id] }),
  });
  return (
    <Dialog
      title={`Send ${deliveriesIn(preview.deliveries)} again?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" icon="send" busy={start.isPending} onClick={() => start.mutate()}>
            Send again
          </Button>
        </>
      }
    >
      <div className={dialogs.content}>
        {start.error ? <ProblemNotice error={start.error} what="Nothing was sent again." /> : null}
        <p>Each goes out once more as a new manual delivery, with exactly the same body, oldest first.</p>
        <ul className={dialogs.points}>
          <li>New deliveries have ids of their own: a receiver that looks at them takes each as a new one.</li>
          <li>A few go out at a time, so it takes a while. You can stop it.</li>
          <li>It stops by itself when the webhook is paused, or disabled after failures.</li>
          <li>The old deliveries stay in the history as they are.</li>
        </ul>
      </div>
    </Dialog>
  );
}
