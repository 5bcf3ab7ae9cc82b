import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { ApiProblem, type Keys } from "../../api/client.ts";
import { createWebhook, newestChanges, refresh, saveWebhook, webhookQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { Icon } from "../../common/display/Icon.tsx";
import { announce, Notice } from "../../common/feedback/Notice.tsx";
import { Button, ButtonLink } from "../../common/form/Button.tsx";
import { PageHead, Panel, usePageTitle } from "../../common/page/Page.tsx";
import { useManageBlock } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { unsaved, useKept, useKeys, useUnsaved } from "../../common/unsaved.ts";
import { ConflictNotice, SaveProblem } from "./ConflictNotice.tsx";
import {
  type Conflict,
  type Draft,
  headerNames,
  mergeEdits,
  repeatedHeader,
  sameDraft,
  settingsOf,
  unseenSince,
} from "./edits.ts";
import { ReplaceSecret, useRevealSecret } from "./RevealedSecret.tsx";
import { useWebhookForm } from "./use-webhook-form.ts";
import { WebhookFields } from "./WebhookFields.tsx";

interface Base {
  draft: Draft;
  version: string;
}

type Unsaved = { base: Base; draft: Draft; keys: Keys };

const draftOf = ({ name, url, events, enabled, headerNames }: EndpointDetails): Draft => {
  // An API of the previous version names none.
  const headers = (headerNames ?? []).map((name) => ({ name, value: "" }));
  return { name, url, events, enabled, headers };
};
const baseOf = (webhook: EndpointDetails): Base => ({ draft: draftOf(webhook), version: webhook.version });

export function EditWebhook({ webhook }: { webhook: EndpointDetails }) {
  usePageTitle(`Settings · ${webhook.name}`, 1);
  const block = useManageBlock();
  const client = useQueryClient();
  const place = `settings/${webhook.id}`;
  const before = useUnsaved<Unsaved>(place);
  /** The edit began from this. A save must name its version. */
  const [base, setBase] = useState(() => before.base ?? baseOf(webhook));
  const [conflicts, setConflicts] = useState<Conflict[]>([]);
  const [secretReplaced, setSecretReplaced] = useState(false);
  const form = useWebhookForm(before.draft ?? base.draft, block === null);
  const keys = useKeys(before.keys);
  const dirty = !sameDraft(form.draft, base.draft);
  useKept(place, dirty ? { base, draft: form.draft, keys } : null);

  // Another admin saved, and nothing was typed here that could get lost.
  if (!dirty && webhook.version !== base.version) {
    setBase(baseOf(webhook));
    form.reset(draftOf(webhook));
  }

  const save = useMutation({
    mutationFn: () =>
      saveWebhook(
        webhook.id,
        { ...settingsOf(form.draft, base.draft), rotateSecret: false, version: base.version },
        keys,
      ),
    onSuccess: ({ endpoint }) => {
      setConflicts([]);
      const saved = { ...webhook, ...endpoint, headerNames: headerNames(form.draft) };
      client.setQueryData(webhookQuery(webhook.id).queryKey, saved);
      setBase(baseOf(saved));
      form.reset(draftOf(saved));
      announce(`${endpoint.name} is saved.`);
      void refresh(client, webhook.id);
    },
    onError: async (error) => {
      if (!isConflict(error)) return form.refuse(error);
      const theirs = await client.fetchQuery({ ...webhookQuery(webhook.id), staleTime: 0 });
      const { changes } = await newestChanges(webhook.id);
      const since = unseenSince(changes, base.version);
      const merged = mergeEdits(base.draft, form.draft, draftOf(theirs), since.headerValues);
      setConflicts(merged.conflicts);
      setSecretReplaced(since.secretReplaced);
      setBase(baseOf(theirs));
      form.replace(merged.draft);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (block === null && dirty && !save.isPending && !repeatedHeader(form.draft)) save.mutate();
  };
  return (
    <>
      <Panel title="Settings" padded>
        {block ? <Notice tone="plain" icon="lock" title={block} /> : null}
        <form className={shared.loose} onSubmit={submit} noValidate>
          <WebhookFields form={form} base={base.draft} readOnly={block !== null} />
          {isConflict(save.error) ? (
            <ConflictNotice conflicts={conflicts} secretReplaced={secretReplaced} />
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
                  form.reset(base.draft);
                }}
              >
                Discard changes
              </Button>
            ) : null}
          </div>
        </form>
      </Panel>
      <ReplaceSecret webhook={webhook} />
    </>
  );
}

const isConflict = (error: unknown) => error instanceof ApiProblem && error.problem.code === "version_conflict";
const empty: Draft = { name: "", url: "", events: [], enabled: true, headers: [] };
const NEW = "new";

export default function NewWebhook() {
  const block = useManageBlock();
  const before = useUnsaved<Unsaved>(NEW);
  const form = useWebhookForm(before.draft ?? empty, block === null);
  const keys = useKeys(before.keys);
  useKept(NEW, sameDraft(form.draft, empty) ? null : { draft: form.draft, keys });
  const reveal = useRevealSecret();
  const client = useQueryClient();
  const [, go] = useLocation();
  const create = useMutation({
    mutationFn: () => createWebhook({ ...settingsOf(form.draft, empty), rotateSecret: false, version: null }, keys),
    onSuccess: async ({ endpoint, signingSecret }) => {
      announce(`${endpoint.name} is saved.`);
      reveal({ webhook: endpoint, secret: signingSecret, replaces: false });
      go(`/webhooks/${endpoint.id}`, { replace: true });
      unsaved.delete(NEW);
      await client.invalidateQueries({ queryKey: ["overview"] });
    },
    onError: form.refuse,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (block === null && !create.isPending && !repeatedHeader(form.draft)) create.mutate();
  };
  return (
    <>
      <PageHead title="New webhook" />
      <Panel padded>
        {block ? <Notice tone="plain" icon="lock" title={block} /> : null}
        <form className={shared.loose} onSubmit={submit} noValidate>
          <WebhookFields form={form} base={empty} readOnly={block !== null} />
          <p className={classNames(shared.iconed, shared.softSmall)}>
            <Icon name="key" />
            <span>Saving makes a signing secret and shows it once. Have a place ready to store it.</span>
          </p>
          <SaveProblem error={create.error} />
          <div className={shared.row}>
            <Button kind="primary" type="submit" busy={create.isPending} disabledReason={block}>
              Save webhook
            </Button>
            <ButtonLink href="/" onClick={() => unsaved.delete(NEW)}>
              Cancel
            </ButtonLink>
          </div>
        </form>
      </Panel>
    </>
  );
}
