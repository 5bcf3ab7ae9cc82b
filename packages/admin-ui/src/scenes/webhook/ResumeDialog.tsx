import type { EndpointDetails } from "@herald/contracts";
import { useState } from "react";
import { announce } from "../../common/feedback/announce.ts";
import { ProblemNotice } from "../../common/feedback/Problem.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import { useManageBlock, useSession } from "../../common/session.tsx";
import css from "./dialogs.module.css";
import { resumeWords } from "./resume-words.ts";
import { useSwitchWebhook } from "./switch-webhook.ts";

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
            Deliveries that have had all {limits.maxAttempts} attempts stay as they are. You can send one again as a
            manual delivery.
          </li>
        </ul>
      </div>
    </Dialog>
  );
}
