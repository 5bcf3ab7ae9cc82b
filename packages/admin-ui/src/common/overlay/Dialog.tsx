import { Dialog as Radix } from "radix-ui";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { classNames } from "../class-names.ts";
import type { IconName } from "../display/Icon.tsx";
import { ChangeProblem } from "../feedback/Notice.tsx";
import { Button } from "../form/Button.tsx";
import shared from "../shared.module.css";
import css from "./overlay.module.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Below the content, at its right end: the buttons. */
  actions?: ReactNode;
  /** A question that must be answered: only the actions close it. */
  mustAnswer?: boolean;
  shape?: "dialog" | "drawer";
  aside?: ReactNode;
}

/** Focuses the marked control, else the dialog itself, since its first control is the cross. */
function focusWhatMatters(event: Event): void {
  event.preventDefault();
  const content = event.currentTarget as HTMLElement;
  (content.querySelector<HTMLElement>("[data-autofocus]") ?? content).focus({ preventScroll: true });
}

/** Returns the focus to where it was. The element that opened the dialog may be gone. */
function focusAgain(opener: Element | null): void {
  const place = opener instanceof HTMLElement && opener.isConnected ? opener : document.getElementById("main");
  place?.focus({ preventScroll: true });
}

/** A modal dialog: a question in the middle, or a drawer at the side. */
export function Dialog({ title, onClose, children, actions, mustAnswer = false, shape = "dialog", aside }: Props) {
  const [opener] = useState(() => document.activeElement);
  const hold = (event: Event): void => {
    if (mustAnswer) event.preventDefault();
  };
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={css.overlay} />
        <Radix.Content
          className={classNames(css.content, css[shape])}
          aria-describedby={undefined}
          onEscapeKeyDown={hold}
          onInteractOutside={hold}
          onOpenAutoFocus={focusWhatMatters}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            focusAgain(opener);
          }}
        >
          <header className={css.header}>
            <div className={classNames(shared.row, css.titles)}>
              <Radix.Title className={css.title}>{title}</Radix.Title>
              {aside}
            </div>
            {mustAnswer ? null : (
              <span className={css.close}>
                <Button kind="quiet" icon="cross" iconOnly onClick={onClose}>
                  Close
                </Button>
              </span>
            )}
          </header>
          <div className={css.body}>{children}</div>
          {actions ? <footer className={classNames(shared.row, css.actions)}>{actions}</footer> : null}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ConfirmationProps {
  title: string;
  verb: string;
  icon: IconName;
  danger?: boolean;
  /** Why it can't be done yet. */
  block?: string | null;
  mutation: { error: unknown; isPending: boolean };
  /** The action as a participle, such as "deleted". */
  done: string;
  /** The name of the webhook that it is done to, if there are several. */
  subject?: string;
  /** The effect of another try if the answer was lost. */
  again?: string;
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
