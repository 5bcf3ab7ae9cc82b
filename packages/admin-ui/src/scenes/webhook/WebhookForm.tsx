import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiProblem } from "../../api/client.ts";
import { createWebhook, saveWebhook, webhookQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { Icon } from "../../common/display/Icon.tsx";
import { announce, Notice } from "../../common/feedback/Notice.tsx";
import { Button, ButtonLink } from "../../common/form/Button.tsx";
import { Switch } from "../../common/form/Field.tsx";
import { PageHead, Panel, usePageTitle } from "../../common/page/Page.tsx";
import { useManageBlock } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { ConflictNotice, SaveProblem } from "./ConflictNotice.tsx";
import { type Conflict, type Draft, mergeEdits, sameDraft } from "./edits.ts";
import { useRevealSecret } from "./RevealedSecret.tsx";
import { useWebhookForm } from "./use-webhook-form.ts";
import { WebhookFields } from "./WebhookFields.tsx";
import css from "./webhook.module.css";

interface Base {
  draft: Draft;
  version: string;
}

const draftOf = ({ name, url, events, enabled }: EndpointDetails): Draft => ({ name, url, events, enabled });
const baseOf = (webhook: EndpointDetails): Base => ({ draft: draftOf(webhook), version: webhook.version });

export function EditWebhook({ webhook }: { webhook: EndpointDetails }) {
  usePageTitle(`Settings · ${webhook.name}`, 1);
  const block = useManageBlock();
  const client = useQueryClient();
  const reveal = useRevealSecret();
  /** The edit began from this. A save must name its version. */
  const [base, setBase] = useState(() => baseOf(webhook));
  const [rotateSecret, setRotateSecret] = useState(false);
  const [conflicts, setConflicts] = useState<Conflict[]>([]);
  const form = useWebhookForm(base.draft, block === null);
  const dirty = rotateSecret || !sameDraft(form.draft, base.draft);

  // Another admin saved, and nothing was typed here that could get lost.
  if (!dirty && webhook.version !== base.version) {
    setBase(baseOf(webhook));
    form.reset(draftOf(webhook));
  }

  const save = useMutation({
    mutationFn: () =>
      saveWebhook(webhook.id, { ...form.draft, events: [...form.draft.events], rotateSecret, version: base.version }),
    onSuccess: async ({ endpoint, signingSecret }) => {
      setConflicts([]);
      setRotateSecret(false);
      const saved = await client.fetchQuery({ ...webhookQuery(webhook.id), staleTime: 0 });
      setBase(baseOf(saved));
      form.reset(draftOf(saved));
      announce(`${endpoint.name} is saved.`);
      if (signingSecret) reveal({ webhookName: endpoint.name, secret: signingSecret, replaces: true });
      await client.invalidateQueries({ queryKey: ["overview"] });
    },
    onError: async (error) => {
      if (!(error instanceof ApiProblem) || error.status !== 409) {
        return form.refuse(error);
      }
      const theirs = await client.fetchQuery({ ...webhookQuery(webhook.id), staleTime: 0 });
      const merged = mergeEdits(base.draft, form.draft, draftOf(theirs));
      setConflicts(merged.conflicts);
      setBase(baseOf(theirs));
      form.replace(merged.draft);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (block === null && dirty && !save.isPending) save.mutate();
  };
  const conflicted = save.error instanceof ApiProblem && save.error.status === 409;
  return (
    <Panel title="Settings" padded narrow>
      {block ? <Notice tone="plain" icon="lock" title={block} /> : null}
      <form className={shared.loose} onSubmit={submit} noValidate>
        <WebhookFields form={form} readOnly={block !== null} />
        <div className={css.replace}>
          <Switch
            label="Replace signing secret"
            hint={
              rotateSecret
                ? "Saving makes a new secret and shows it once."
                : "The secret stays as it is. It can't be shown again, only replaced."
            }
            checked={rotateSecret}
            onChange={setRotateSecret}
            disabled={block !== null}
          />
          {rotateSecret ? (
            <Notice tone="care" title="There is no grace period.">
              <p>
                From the moment of saving every attempt is signed with the new secret, retries of older deliveries too.
                Until your receiver knows it, it will reject them. A request already under way may still carry the old
                signature.
              </p>
            </Notice>
          ) : null}
        </div>
        {conflicted ? (
          <ConflictNotice
            conflicts={conflicts}
            onTake={(field) => {
              form.replace({ ...form.draft, [field]: base.draft[field] });
              setConflicts((before) => before.map((each) => (each.field === field ? { ...each, yours: null } : each)));
            }}
          />
        ) : (
          <SaveProblem error={save.error} />
        )}
        <div className={shared.row}>
          <Button
            kind="primary"
            type="submit"
            busy={save.isPending}
            disabledReason={block ?? (dirty ? null : "Nothing has been changed.")}
          >
            Save webhook
          </Button>
          {dirty ? (
            <Button
              onClick={() => {
                save.reset();
                setConflicts([]);
                setRotateSecret(false);
                form.reset(base.draft);
              }}
            >
              Discard changes
            </Button>
          ) : null}
        </div>
      </form>
    </Panel>
  );
}

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
          <Link href="/" className={classNames(shared.iconed, shared.softSmall, css.back)}>
            <Icon name="arrowLeft" size={14} /> All webhooks
          </Link>
        }
      />
      <Panel padded narrow>
        {block ? <Notice tone="plain" icon="lock" title={block} /> : null}
        <form className={shared.loose} onSubmit={submit} noValidate>
          <WebhookFields form={form} readOnly={block !== null} />
          <p className={classNames(shared.iconed, shared.softSmall)}>
            <Icon name="key" />
            <span>Saving makes a signing secret and shows it once. Have a place ready to store it.</span>
          </p>
          <SaveProblem error={create.error} />
          <div className={shared.row}>
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
