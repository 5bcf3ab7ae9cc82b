import type { EndpointDetails } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ApiProblem } from "../../api/client.ts";
import { webhookQuery } from "../../api/queries.ts";
import { StatusBadge } from "../../common/display/Badge.tsx";
import { Copy } from "../../common/display/Code.tsx";
import { endpointStatus, MISSED } from "../../common/display/status.ts";
import { LoadError, NotFound, NotLoaded } from "../../common/feedback/LoadError.tsx";
import { RefreshProblem, StandstillNotice } from "../../common/feedback/Notice.tsx";
import { Boundary, part } from "../../common/feedback/Part.tsx";
import { Button } from "../../common/form/Button.tsx";
import { PageHead, Tabs } from "../../common/page/Page.tsx";
import { useDeleteBlock, useManageBlock } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { Deliveries } from "../deliveries/Deliveries.tsx";
import { DeleteDialog, PauseDialog } from "./dialogs.tsx";
import { Health } from "./Health.tsx";
import css from "./webhook.module.css";

const Changes = part("the changes", async () => ({ default: (await import("../changes/Changes.tsx")).Changes }));
const ManualDelivery = part("the form", () => import("../deliveries/ManualDelivery.tsx"));
const NeverGot = part("what the receiver missed", () => import("../deliveries/NeverGot.tsx"));
const Signature = part("the signatures", () => import("../signature/Signature.tsx"));
const EditWebhook = part("the settings", async () => ({ default: (await import("./WebhookForm.tsx")).EditWebhook }));

const tabs = [
  { path: "", words: "Deliveries" },
  { path: "/never-got", words: MISSED },
  { path: "/manual", words: "Manual delivery" },
  { path: "/signature", words: "Signature" },
  { path: "/settings", words: "Settings" },
  { path: "/changes", words: "Changes" },
] as const;

export default function WebhookPage({ id, place }: { id: string; place: string }) {
  const { data: webhook, error } = useQuery(webhookQuery(id));
  if (!webhook) return <NotLoaded error={error} what="the webhook" level={1} />;
  const gone = error instanceof ApiProblem && error.status === 404;
  if (gone) return <LoadError error={error} what="the webhook" level={1} />;
  return (
    <>
      <Head webhook={webhook} />
      <RefreshProblem error={error} what="the webhook" />
      <div className={shared.stack}>
        <StandstillNotice webhook={webhook} />
        <Health webhook={webhook} brief={place !== "" && !place.startsWith("deliveries")} />
        <Tabs name="Parts of this webhook" base={`/webhooks/${id}`} tabs={tabs} />
        <Boundary what="this part of the page">
          <Place webhook={webhook} place={place} />
        </Boundary>
      </div>
    </>
  );
}

function Place({ webhook, place }: { webhook: EndpointDetails; place: string }) {
  const [name, deliveryId, ...more] = place.split("/");
  if (more.length > 0) return <NotFound />;
  if (name === "" || name === "deliveries") return <Deliveries webhook={webhook} openDelivery={deliveryId} />;
  if (deliveryId !== undefined) return <NotFound />;
  if (name === "never-got") return <NeverGot webhook={webhook} />;
  if (name === "manual") return <ManualDelivery webhook={webhook} />;
  if (name === "signature") return <Signature webhook={webhook} />;
  if (name === "settings") return <EditWebhook webhook={webhook} />;
  if (name === "changes") return <Changes id={webhook.id} />;
  return <NotFound />;
}

function Head({ webhook }: { webhook: EndpointDetails }) {
  return (
    <PageHead
      title={webhook.name}
      aside={<StatusBadge status={endpointStatus(webhook)} />}
      actions={<WebhookActions webhook={webhook} />}
    >
      <div className={css.url}>
        <code className={shared.soft}>{webhook.url}</code>
        <Copy text={webhook.url} what="endpoint URL" small />
      </div>
      {webhook.headerNames?.length ? (
        <p className={shared.softSmall}>Sent with its own headers: {webhook.headerNames.join(", ")}</p>
      ) : null}
    </PageHead>
  );
}

function WebhookActions({ webhook }: { webhook: EndpointDetails }) {
  const [asking, setAsking] = useState<"pause" | "delete" | null>(null);
  const manageBlock = useManageBlock();
  const deleteBlock = useDeleteBlock();
  const close = (): void => setAsking(null);
  return (
    <>
      {webhook.enabled ? (
        <Button icon="pause" disabledReason={manageBlock} onClick={() => setAsking("pause")}>
          Pause…
        </Button>
      ) : null}
      <Button icon="trash" disabledReason={deleteBlock} onClick={() => setAsking("delete")}>
        Delete…
      </Button>
      {asking === "pause" ? <PauseDialog webhook={webhook} onClose={close} /> : null}
      {asking === "delete" ? <DeleteDialog webhook={webhook} onClose={close} /> : null}
    </>
  );
}
