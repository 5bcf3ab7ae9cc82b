import type { EndpointDetails } from "@herald/contracts";
import { useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../../common/form/Button.tsx";
import { Menu } from "../../common/overlay/Menu.tsx";
import { useDeleteBlock, useManageBlock } from "../../common/session.tsx";
import { DeleteDialog } from "./DeleteDialog.tsx";
import { PauseDialog } from "./SwitchDialogs.tsx";

/** The actions on a webhook: pause or resume, and delete. */
export function WebhookActions({ webhook }: { webhook: EndpointDetails }) {
  const [asking, setAsking] = useState<"pause" | "delete" | null>(null);
  const manageBlock = useManageBlock();
  const deleteBlock = useDeleteBlock();
  const [, go] = useLocation();
  const close = (): void => setAsking(null);
  return (
    <>
      {webhook.enabled ? (
        <Button icon="pause" disabledReason={manageBlock} onClick={() => setAsking("pause")}>
          Pause…
        </Button>
      ) : null}
      <Menu
        trigger={
          <Button icon="more" iconOnly>
            More actions
          </Button>
        }
        items={[
          { name: "Send a manual delivery", icon: "send", onSelect: () => go(`/webhooks/${webhook.id}/manual`) },
          { name: "Edit settings", icon: "settings", onSelect: () => go(`/webhooks/${webhook.id}/settings`) },
          {
            name: "Delete webhook…",
            icon: "trash",
            danger: true,
            disabledReason: deleteBlock,
            onSelect: () => setAsking("delete"),
          },
        ]}
      />
      {asking === "pause" ? <PauseDialog webhook={webhook} onClose={close} /> : null}
      {asking === "delete" ? <DeleteDialog webhook={webhook} onClose={close} /> : null}
    </>
  );
}
