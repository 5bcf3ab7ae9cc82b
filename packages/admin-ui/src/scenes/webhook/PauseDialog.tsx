import type { EndpointDetails } from "@herald/contracts";
import { announce } from "../../common/feedback/announce.ts";
import { ProblemNotice } from "../../common/feedback/Problem.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import css from "./dialogs.module.css";
import { useSwitchWebhook } from "./switch-webhook.ts";

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
