import type { DeliveryListItem } from "@herald/contracts";
import { type ReactNode, useEffect, useState } from "react";
import { classNames } from "../class-names.ts";
import { announce } from "../feedback/Notice.tsx";
import { Button } from "../form/Button.tsx";
import shared from "../shared.module.css";
import css from "./display.module.css";

interface CodeProps {
  /** Names the block for screen readers, and its copy button. */
  what: string;
  text: string;
  /** Shown instead of the bare text, for marked-up text. */
  children?: ReactNode;
  /** Lines break at the end of the block. Off for program code. */
  wrap?: boolean;
}

export function Code({ what, text, children, wrap = true }: CodeProps) {
  return (
    <figure className={css.block}>
      {/* biome-ignore lint/a11y/useSemanticElements: it is no set of controls */}
      <pre
        className={classNames(shared.boxed, css.text, wrap && css.wrap)}
        role="group"
        aria-label={what}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {children ?? text}
      </pre>
      <span className={css.copy}>
        <Copy text={text} what={what} small />
      </span>
    </figure>
  );
}

interface CopyProps {
  text: string;
  /** Completes the button's name: "Copy" + " delivery id". */
  what: string;
  small?: boolean;
  kind?: "primary" | "secondary" | "quiet";
  onCopied?: () => void;
}

const SAY_SO_MS = 2_000;

export function Copy({ text, what, small = false, kind = small ? "quiet" : "secondary", onCopied }: CopyProps) {
  const [state, setState] = useState<"idle" | "copied" | "refused">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), SAY_SO_MS);
    return () => clearTimeout(timer);
  }, [state]);

  const copy = async (): Promise<void> => {
    const done = await writeClipboard(text);
    setState(done ? "copied" : "refused");
    announce(
      done ? `Copied ${what}.` : `The browser did not allow copying ${what}. Select the text and copy it by hand.`,
    );
    if (done) onCopied?.();
  };
  const words = { idle: `Copy ${what}`, copied: "Copied", refused: "Not allowed: copy by hand" }[state];
  return (
    <Button kind={kind} icon={state === "copied" ? "check" : "copy"} iconOnly={small} onClick={() => void copy()}>
      {words}
    </Button>
  );
}

export function CopiedId({ id, what }: { id: string; what: string }) {
  return (
    <span className={shared.copied}>
      <code>{id}</code>
      <Copy text={id} what={what} small />
    </span>
  );
}

async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** People know an id by `head`, by which a search finds it, and by `tail`, since ids begin with their time and so begin alike. */
export function shortId(id: string): { head: string; tail: string } {
  return { head: id.slice(0, 8), tail: id.slice(-4) };
}

export function shortIdWords(id: string): string {
  const { head, tail } = shortId(id);
  return `${head}…${tail}`;
}

export function deliveryWords({ id, eventType, businessEventId, entityId }: DeliveryListItem): string {
  if (businessEventId === undefined) return `${eventType}, manual delivery ${shortIdWords(id)}`;
  const entity = entityId === null ? "" : `, entity ${shortIdWords(entityId)}`;
  return `${eventType}${entity}, event ${shortIdWords(businessEventId)}`;
}

export function ShortId({ id }: { id: string }) {
  const { head, tail } = shortId(id);
  return (
    <code className={shared.numbers}>
      <span className={shared.medium}>{head}</span>…{tail}
    </code>
  );
}
