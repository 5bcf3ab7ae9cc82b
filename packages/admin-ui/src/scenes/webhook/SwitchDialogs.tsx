import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { saveWebhook } from "../../api/queries.ts";
import { announce } from "../../common/feedback/announce.ts";
import { ProblemNotice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import { useManageBlock, useSession } from "../../common/session.tsx";
import { resumeWords } from "./resume-words.ts";
import css from "./webhook.module.css";

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
    <Dialog
      title={`Resume ${webhook.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" icon="play" busy={resume.isPending} onClick={() => resume.mutate(true)}>
            Resume
          </Button>
        </>
      }
    >
      <div className={css.content}>
        {resume.error ? <ProblemNotice error={resume.error} what="It was not resumed." /> : null}
        <p className={css.lead}>{resumeWords(webhook)}</p>
        <ul className={css.points}>
          <li>The count of failures starts at zero.</li>
          <li>
            Deliveries that have had all {limits.maxAttempts} attempts stay as they are. You can send them again under
            “Never got”.
          </li>
        </ul>
      </div>
    </Dialog>
  );
}

export function PauseDialog({ webhook, onClose }: { webhook: EndpointDetails; onClose: () => void }) {
  const pause = useSwitchWebhook(webhook, () => {
    announce(`${webhook.name} is paused.`);
    onClose();
  });
  return (
    <Dialog
      title={`Pause ${webhook.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" icon="pause" busy={pause.isPending} onClick={() => pause.mutate(false)}>
            Pause
          </Button>
        </>
      }
    >
      <div className={css.content}>
        {pause.error ? <ProblemNotice error={pause.error} what="It was not paused." /> : null}
        <p>Nothing is sent to it until you resume it. A request that is under way may still arrive.</p>
        <ul className={css.points}>
          <li>Unfinished deliveries and the history are kept.</li>
          <li>Events that come meanwhile are sent after the resume, for up to seven days.</li>
        </ul>
      </div>
    </Dialog>
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
