import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { deleteWebhook, saveWebhook } from "../../api/queries.ts";
import { announce, ProblemNotice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Field } from "../../common/form/Field.tsx";
import controls from "../../common/form/form.module.css";
import { Confirmation, Dialog } from "../../common/overlay/Dialog.tsx";
import overlay from "../../common/overlay/overlay.module.css";
import { useManageBlock, useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { resumeWords } from "./words.ts";

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

function ResumeDialog({ webhook, onClose }: { webhook: EndpointDetails; onClose: () => void }) {
  const { limits } = useSession();
  const resume = useSwitchWebhook(webhook, () => {
    announce(`${webhook.name} is active again.`);
    onClose();
  });
  return (
    <Confirmation
      title={`Resume ${webhook.name}?`}
      verb="Resume"
      icon="play"
      mutation={resume}
      failed="It was not resumed."
      onConfirm={() => resume.mutate(true)}
      onClose={onClose}
    >
      <p className={shared.lead}>{resumeWords(webhook)}</p>
      <ul>
        <li>The count of failures starts at zero.</li>
        <li>
          Deliveries that have had all {limits.maxAttempts} attempts stay as they are. You can send them again under
          “Never got”.
        </li>
      </ul>
    </Confirmation>
  );
}

export function PauseDialog({ webhook, onClose }: { webhook: EndpointDetails; onClose: () => void }) {
  const pause = useSwitchWebhook(webhook, () => {
    announce(`${webhook.name} is paused.`);
    onClose();
  });
  return (
    <Confirmation
      title={`Pause ${webhook.name}?`}
      verb="Pause"
      icon="pause"
      mutation={pause}
      failed="It was not paused."
      onConfirm={() => pause.mutate(false)}
      onClose={onClose}
    >
      <p>Nothing is sent to it until you resume it. A request that is under way may still arrive.</p>
      <ul>
        <li>Unfinished deliveries and the history are kept.</li>
        <li>Events that come meanwhile are sent after the resume, for up to seven days.</li>
      </ul>
    </Confirmation>
  );
}

/** Pauses or resumes a webhook: an edit that changes nothing but its Active flag (SPEC 3.1). */
function useSwitchWebhook(webhook: EndpointDetails, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (enabled: boolean) => {
      const { name, url, events, version } = webhook;
      return saveWebhook(webhook.id, { name, url, events, enabled, rotateSecret: false, version });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["webhook", webhook.id] });
      void client.invalidateQueries({ queryKey: ["overview"] });
      void client.invalidateQueries({ queryKey: ["deliveries", webhook.id] });
      onDone();
    },
    // After a conflict, the next press must be made with the newest version.
    onError: () => client.invalidateQueries({ queryKey: ["webhook", webhook.id] }),
  });
}

const FORM = "delete-webhook";

export function DeleteDialog({ webhook, onClose }: { webhook: EndpointDetails; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [, go] = useLocation();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteWebhook(webhook.id, webhook.version),
    onSuccess: async () => {
      go("/");
      announce(`${webhook.name} is deleted.`);
      client.removeQueries({ queryKey: ["webhook", webhook.id] });
      client.removeQueries({ queryKey: ["deliveries", webhook.id] });
      await client.invalidateQueries({ queryKey: ["overview"] });
    },
    onError: () => client.invalidateQueries({ queryKey: ["webhook", webhook.id] }),
  });
  const matches = typed.trim() === webhook.name.trim();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (matches && !remove.isPending) remove.mutate();
  };
  return (
    <Dialog
      title={`Delete ${webhook.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="danger"
            type="submit"
            form={FORM}
            busy={remove.isPending}
            disabledReason={matches ? null : "Type the webhook's name first."}
          >
            Delete webhook
          </Button>
        </>
      }
    >
      <form id={FORM} className={overlay.question} onSubmit={submit}>
        {remove.error ? <ProblemNotice error={remove.error} what="It was not deleted." /> : null}
        <p>
          <strong>Its delivery history goes too</strong>, with every unfinished delivery. This can't be undone. To stop
          sending and keep the history, pause it instead.
        </p>
        <ul>
          <li>What the receiver has got already stays there.</li>
          <li>A request that is under way may still arrive.</li>
        </ul>
        <Field label={`Type “${webhook.name}” to confirm`}>
          {(attributes) => (
            <input
              {...attributes}
              className={controls.input}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              autoComplete="off"
              spellCheck={false}
              data-autofocus
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
