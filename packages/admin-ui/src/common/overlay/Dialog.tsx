import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { classNames } from "../class-names.ts";
import type { IconName } from "../display/Icon.tsx";
import { ChangeProblem, type ChangeProblemProps } from "../feedback/Notice.tsx";
import { Button } from "../form/Button.tsx";
import shared from "../shared.module.css";
import css from "./overlay.module.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
  /** A question that must be answered: only the actions close it. */
  mustAnswer?: boolean;
  shape?: "dialog" | "drawer";
  aside?: ReactNode;
}

export function Dialog({ title, onClose, children, actions, mustAnswer = false, shape = "dialog", aside }: Props) {
  const place = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const dialog = place.current;
    const opener = document.activeElement;
    dialog?.showModal();
    // The browser would focus the first control, which is the cross.
    (dialog?.querySelector<HTMLElement>("[data-autofocus]") ?? dialog)?.focus({ preventScroll: true });
    return () => {
      dialog?.close();
      setTimeout(focusAgain, 0, opener);
    };
  }, []);
  // Browsers that don't know `closedby` close it by Escape.
  const closed = (): void => {
    if (!place.current || place.current.open) return;
    if (mustAnswer) place.current.showModal();
    else onClose();
  };
  return (
    <dialog
      ref={place}
      className={classNames(css.content, css[shape])}
      aria-labelledby={titleId}
      tabIndex={-1}
      closedby={mustAnswer ? "none" : "any"}
      onClose={closed}
    >
      <header className={css.header}>
        <div className={classNames(shared.row, css.titles)}>
          <h2 id={titleId} className={css.title}>
            {title}
          </h2>
          {aside}
        </div>
        {mustAnswer ? null : (
          <Button kind="quiet" icon="cross" iconOnly onClick={onClose}>
            Close
          </Button>
        )}
      </header>
      <div className={css.body}>{children}</div>
      {actions ? <footer className={classNames(shared.row, css.actions)}>{actions}</footer> : null}
      <div className={shared.unseen} aria-live="polite" data-announcements />
    </dialog>
  );
}

/** Returns the focus to where it was. The element that opened the dialog may be gone. */
function focusAgain(opener: Element | null): void {
  const place = opener instanceof HTMLElement && opener.isConnected ? opener : document.getElementById("main");
  place?.focus({ preventScroll: true });
}

interface ConfirmationProps extends Omit<ChangeProblemProps, "error"> {
  title: string;
  verb: string;
  icon: IconName;
  danger?: boolean;
  block?: string | null;
  mutation: { error: unknown; isPending: boolean };
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

export function Confirmation({ title, verb, icon, danger = false, block = null, ...rest }: ConfirmationProps) {
  const { mutation, done, subject, again, onConfirm, onClose, children } = rest;
  const form = useId();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (block === null && !mutation.isPending) onConfirm();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind={danger ? "danger" : "primary"}
            icon={icon}
            type="submit"
            form={form}
            busy={mutation.isPending}
            disabledReason={block}
          >
            {verb}
          </Button>
        </>
      }
    >
      <form id={form} className={css.question} onSubmit={submit}>
        {mutation.error ? <ChangeProblem error={mutation.error} done={done} subject={subject} again={again} /> : null}
        {children}
      </form>
    </Dialog>
  );
}
