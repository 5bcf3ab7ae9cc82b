import type { EndpointDetails, EndpointOverview } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import type { Keys } from "../../api/client.ts";
import { deleteWebhook, refresh, saveWebhook } from "../../api/queries.ts";
import { MISSED } from "../../common/display/status.ts";
import { announce } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { TextField } from "../../common/form/Field.tsx";
import { folded } from "../../common/formats.ts";
import { Confirmation } from "../../common/overlay/Dialog.tsx";
import { useManageBlock, useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { unsaved, useKeys } from "../../common/unsaved.ts";
import { resumeWords } from "./words.ts";

export interface DialogProps {
  webhook: EndpointDetails;
  onClose: () => void;
}

export function ResumeButton({ webhook }: { webhook: EndpointDetails }) {
  const [asking, setAsking] = useState(false);
  const block = useManageBlock();
  return (
    <>
      <Button kind="primary" icon="play" disabledReason={block} onClick={() => setAsking(true)}>
        Resume…
      </Button>
      {asking ? <ResumeDialog webhook={webhook} onClose={() => setAsking(false)} /> : null}
    </>
  );
}

function ResumeDialog({ webhook, onClose }: DialogProps) {
  const { limits } = useSession();
  return (
    <SwitchDialog webhook={webhook} enabled onClose={onClose}>
      <p className={shared.lead}>{resumeWords(webhook)}</p>
      <ul>
        <li>The count of failures starts at zero.</li>
        <li>
          Deliveries that have had all {limits.maxAttempts} attempts stay as they are. You can send them again under “
          {MISSED}”.
        </li>
      </ul>
    </SwitchDialog>
  );
}

export function PauseDialog({ webhook, onClose }: DialogProps) {
  return (
    <SwitchDialog webhook={webhook} enabled={false} onClose={onClose}>
      <p>Nothing is sent to it until you resume it. A request that is under way may still arrive.</p>
      <ul>
        <li>Unfinished deliveries and the history are kept.</li>
        <li>Events that come meanwhile are sent after the resume, for up to seven days.</li>
      </ul>
    </SwitchDialog>
  );
}

/** Pauses or resumes a webhook: an edit that changes nothing but its Active flag (SPEC 3.1). */
export function switchWebhook({ id, name, url, events, version }: EndpointOverview, enabled: boolean, keys: Keys) {
  return saveWebhook(id, { name, url, events, enabled, rotateSecret: false, version }, keys);
}

export function useSwitch(webhook: EndpointDetails, enabled: boolean, onDone?: () => void) {
  const { id, name } = webhook;
  const client = useQueryClient();
  const keys = useKeys();
  return useMutation({
    mutationFn: () => switchWebhook(webhook, enabled, keys),
    onSuccess: async () => {
      await refresh(client, id);
      announce(`${name} is ${enabled ? "active again" : "paused"}.`);
      onDone?.();
    },
    // After a conflict, the next press must be made with the newest version.
    onError: () => client.invalidateQueries({ queryKey: ["webhook", id] }),
  });
}

function SwitchDialog({
  webhook,
  enabled,
  onClose,
  children,
}: DialogProps & { enabled: boolean; children: ReactNode }) {
  const change = useSwitch(webhook, enabled, onClose);
  const verb = enabled ? "Resume" : "Pause";
  return (
    <Confirmation
      title={`${verb} ${webhook.name}?`}
      verb={verb}
      icon={enabled ? "play" : "pause"}
      mutation={change}
      done={enabled ? "resumed" : "paused"}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      {children}
    </Confirmation>
  );
}

export function DeleteDialog({ webhook, onClose }: DialogProps) {
  const [typed, setTyped] = useState("");
  const [, go] = useLocation();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteWebhook(webhook.id, webhook.version),
    onSuccess: async () => {
      go("/");
      unsaved.delete(`settings/${webhook.id}`);
      announce(`${webhook.name} is deleted.`);
      client.removeQueries({ queryKey: ["webhook", webhook.id] });
      client.removeQueries({ queryKey: ["deliveries", webhook.id] });
      await client.invalidateQueries({ queryKey: ["overview"] });
    },
    onError: () => client.invalidateQueries({ queryKey: ["webhook", webhook.id] }),
  });
  const matches = folded(typed) === folded(webhook.name);
  return (
    <Confirmation
      title={`Delete ${webhook.name}?`}
      verb="Delete webhook"
      icon="trash"
      danger
      block={matches ? null : "Type the webhook's name first."}
      mutation={remove}
      done="deleted"
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        <strong>Its delivery history goes too</strong>, with every unfinished delivery. This can't be undone. To stop
        sending and keep the history, pause it instead.
      </p>
      <ul>
        <li>Your receiver keeps what it has.</li>
        <li>A request that is under way may still arrive.</li>
      </ul>
      <TextField label={`Type “${webhook.name}” to confirm`} value={typed} onChange={setTyped} data-autofocus />
    </Confirmation>
  );
}
