import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Link, useLocation } from "wouter";
import { createWebhook } from "../../api/queries.ts";
import { Icon } from "../../common/display/Icon.tsx";
import { announce } from "../../common/feedback/announce.ts";
import { Notice } from "../../common/feedback/Notice.tsx";
import { Button, ButtonLink } from "../../common/form/Button.tsx";
import { PageHead } from "../../common/page/PageHead.tsx";
import { Panel } from "../../common/page/Panel.tsx";
import { useManageBlock } from "../../common/session.tsx";
import { SaveProblem } from "./ConflictNotice.tsx";
import { useRevealSecret } from "./RevealedSecret.tsx";
import { useWebhookForm } from "./use-webhook-form.ts";
import { WebhookFields } from "./WebhookFields.tsx";
import css from "./webhook-form.module.css";

const empty = { name: "", url: "", events: [], enabled: true };

export default function NewWebhook() {
  const block = useManageBlock();
  const form = useWebhookForm(empty, block === null);
  const reveal = useRevealSecret();
  const client = useQueryClient();
  const [, go] = useLocation();
  const create = useMutation({
    mutationFn: () =>
      createWebhook({ ...form.draft, events: [...form.draft.events], rotateSecret: false, version: null }),
    onSuccess: async ({ endpoint, signingSecret }) => {
      announce(`${endpoint.name} is saved.`);
      if (signingSecret) reveal({ webhookName: endpoint.name, secret: signingSecret, replaces: false });
      go(`/webhooks/${endpoint.id}`, { replace: true });
      await client.invalidateQueries({ queryKey: ["overview"] });
    },
    onError: form.refuse,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (block === null && !create.isPending) create.mutate();
  };
  return (
    <>
      <PageHead
        title="New webhook"
        back={
          <Link href="/" className={css.back}>
            <Icon name="arrowLeft" size={14} /> All webhooks
          </Link>
        }
      />
      <Panel padded narrow>
        {block ? <Notice tone="plain" icon="lock" title={block} /> : null}
        <form className={css.form} onSubmit={submit} noValidate>
          <WebhookFields
            draft={form.draft}
            onChange={form.change}
            onLeave={form.leave}
            problemsOf={form.problems}
            readOnly={block !== null}
          />
          <p className={css.note}>
            <Icon name="key" />
            <span>Saving makes a signing secret and shows it once. Have a place ready to store it.</span>
          </p>
          <SaveProblem error={create.error} />
          <div className={css.actions}>
            <Button kind="primary" type="submit" busy={create.isPending} disabledReason={block}>
              Save webhook
            </Button>
            <ButtonLink href="/">Cancel</ButtonLink>
          </div>
        </form>
      </Panel>
    </>
  );
}
