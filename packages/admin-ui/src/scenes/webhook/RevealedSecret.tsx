import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useState } from "react";
import { refresh, saveWebhook, webhookQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { Copy } from "../../common/display/Code.tsx";
import { ChangeProblem, Notice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { duration } from "../../common/formats.ts";
import { Confirmation, Dialog } from "../../common/overlay/Dialog.tsx";
import overlay from "../../common/overlay/overlay.module.css";
import { Panel } from "../../common/page/Page.tsx";
import { product } from "../../common/product.ts";
import { useManageBlock, useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { useKept, useKeys } from "../../common/unsaved.ts";
import { SendSample } from "../deliveries/Sample.tsx";
import { type DialogProps, useSwitch } from "./dialogs.tsx";
import css from "./webhook.module.css";
import { resumeWords } from "./words.ts";

interface Revealed {
  webhook: { id: string; name: string };
  /** Null if the answer that had it was lost. */
  secret: string | null;
  /** It replaces an older one, which is not valid any more. */
  replaces: boolean;
}

const RevealContext = createContext<(revealed: Revealed) => void>(() => {});

/** Shows a new signing secret once. It is kept in memory only, and only until the dialog is closed. */
export const useRevealSecret = () => useContext(RevealContext);

export function RevealedSecret({ children }: { children: ReactNode }) {
  const [revealed, setRevealed] = useState<Revealed | null>(null);
  useKept("secret", revealed?.secret ? revealed : null);
  return (
    <RevealContext value={setRevealed}>
      {children}
      {revealed ? <SecretDialog revealed={revealed} onClose={() => setRevealed(null)} /> : null}
    </RevealContext>
  );
}

function SecretDialog({ revealed, onClose }: { revealed: Revealed; onClose: () => void }) {
  const { secret, replaces } = revealed;
  const { id, name } = revealed.webhook;
  const { limits } = useSession();
  const { data: webhook } = useQuery(webhookQuery(id));
  const [copied, setCopied] = useState(false);
  if (secret === null) return webhook ? <ReplaceDialog webhook={webhook} isLost onClose={onClose} /> : null;
  return (
    <Dialog
      title={`Signing secret of ${name}`}
      mustAnswer
      onClose={onClose}
      actions={
        <>
          <Copy
            text={secret}
            what="signing secret"
            kind={copied ? "secondary" : "primary"}
            onCopied={() => setCopied(true)}
          />
          <Button kind={copied ? "primary" : "secondary"} onClick={onClose}>
            I have stored it
          </Button>
        </>
      }
    >
      <div className={overlay.question}>
        <Notice tone="care" title="This is the only time it is shown.">
          <p>{product.name} keeps it encrypted and never shows it again. If it gets lost, replace it.</p>
        </Notice>
        <code className={classNames(shared.dashed, css.secret)} data-testid="signing-secret">
          {secret}
        </code>
        <p>
          Give it to the receiver as it is: the text itself is the key, though it looks like Base64. Every attempt is
          signed with it.
        </p>
        {replaces ? (
          <p>
            <strong>The old secret is worth nothing from now on</strong>, also for retries of older deliveries. A
            request already under way may still carry a signature made with it, for up to{" "}
            <span className={shared.numbers}>{duration(limits.attemptTimeoutMs)}</span>.
          </p>
        ) : null}
        {webhook?.enabled ? <SendSample webhook={webhook} /> : null}
        {webhook?.enabled === false && replaces ? <Resume webhook={webhook} /> : null}
      </div>
    </Dialog>
  );
}

/** The last step of a replacement. The webhook waits for it, also if the page is closed. */
function Resume({ webhook }: { webhook: EndpointDetails }) {
  const resume = useSwitch(webhook, true);
  return (
    <div className={shared.column}>
      <p>
        <strong>Nothing is sent until you resume it.</strong> {resumeWords(webhook)} Resume it when your receiver has
        the new secret, here or later on its page: it waits, also if you close this page.
      </p>
      {resume.error ? <ChangeProblem error={resume.error} done="resumed" /> : null}
      <Button className={css.atStart} icon="play" busy={resume.isPending} onClick={() => resume.mutate()}>
        Resume
      </Button>
    </div>
  );
}

export function ReplaceSecret({ webhook }: { webhook: EndpointDetails }) {
  const [asking, setAsking] = useState(false);
  const block = useManageBlock();
  return (
    <Panel title="Signing secret" padded>
      <p className={shared.softSmall}>It can't be shown again, only replaced. The webhook is paused meanwhile.</p>
      <div>
        <Button icon="key" disabledReason={block} onClick={() => setAsking(true)}>
          Replace signing secret
        </Button>
      </div>
      {asking ? <ReplaceDialog webhook={webhook} onClose={() => setAsking(false)} /> : null}
    </Panel>
  );
}

/** Pauses and replaces in one edit: no state in between could be left. @param isLost the answer that had the new secret was lost */
function ReplaceDialog({ webhook, isLost = false, onClose }: DialogProps & { isLost?: boolean }) {
  const { id, name, url, events, enabled, version } = webhook;
  const client = useQueryClient();
  const reveal = useRevealSecret();
  const keys = useKeys();
  const replace = useMutation({
    mutationFn: () => saveWebhook(id, { name, url, events, enabled: false, rotateSecret: true, version }, keys),
    onSuccess: async ({ endpoint, signingSecret }) => {
      onClose();
      reveal({ webhook: endpoint, secret: signingSecret, replaces: true });
      await refresh(client, id);
    },
    // After a conflict, the next press must be made with the newest version.
    onError: () => client.invalidateQueries({ queryKey: ["webhook", id] }),
  });
  return (
    <Confirmation
      title={isLost ? `${name} is saved, and its new secret is lost` : `Replace the signing secret of ${name}?`}
      verb={enabled ? "Pause and replace" : "Replace"}
      icon="key"
      mutation={replace}
      done="replaced"
      again="The webhook may be paused already, with a secret that was not shown. Try again: then you get another one."
      onConfirm={() => replace.mutate()}
      onClose={onClose}
    >
      <p>
        {isLost
          ? `The answer that had the secret did not arrive, and ${product.name} shows a secret only once. Replace it, here or later under Settings:`
          : "There is no grace period for the old secret. So that your receiver rejects nothing, it goes in steps:"}
      </p>
      <ol>
        <li>{enabled ? "The webhook is paused" : "The webhook stays off"}: what is sent to it waits.</li>
        <li>A new secret is made, and shown once. Have a place ready to store it.</li>
        <li>You give it to your receiver.</li>
        <li>You resume the webhook. What waits goes out, signed with the new secret.</li>
      </ol>
    </Confirmation>
  );
}
