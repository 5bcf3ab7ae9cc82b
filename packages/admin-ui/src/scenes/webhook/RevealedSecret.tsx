import { createContext, type ReactNode, useContext, useState } from "react";
import { classNames } from "../../common/class-names.ts";
import { Copy } from "../../common/display/Code.tsx";
import { Notice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import overlay from "../../common/overlay/overlay.module.css";
import { product } from "../../common/product.ts";
import shared from "../../common/shared.module.css";
import { useKept } from "../../common/unsaved.ts";
import css from "./webhook.module.css";

interface Revealed {
  webhookName: string;
  /** Null if the answer that had it was lost. */
  secret: string | null;
  /** It replaces an older one, which is not valid any more. */
  replaces: boolean;
}

const RevealContext = createContext<(revealed: Revealed) => void>(() => {});

/** Shows a new signing secret once. It is kept in memory only, and only until the dialog is closed. */
export function useRevealSecret(): (revealed: Revealed) => void {
  return useContext(RevealContext);
}

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
  const { webhookName, secret, replaces } = revealed;
  const [copied, setCopied] = useState(false);
  if (secret === null) {
    const actions = <Button onClick={onClose}>I will replace it</Button>;
    return (
      <Dialog
        title={`${webhookName} is saved, and its new secret is lost`}
        mustAnswer
        onClose={onClose}
        actions={actions}
      >
        The answer that had the signing secret did not arrive, and {product.name} shows a secret only once. Replace it
        under Settings, and give your receiver the new one. Until then it rejects what is sent.
      </Dialog>
    );
  }
  return (
    <Dialog
      title={`Signing secret of ${webhookName}`}
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
            request already under way may still carry a signature made with it.
          </p>
        ) : null}
      </div>
    </Dialog>
  );
}
