import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type PreviewOfResend, startResend } from "../../api/queries.ts";
import { announce } from "../../common/feedback/announce.ts";
import { ProblemNotice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import dialogs from "../webhook/webhook.module.css";
import { deliveriesIn } from "./resend-words.ts";

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
