import { type ReactNode, useEffect, useState } from "react";
import { AnsweredByAnother, ApiProblem, ApiUnreachable } from "../../api/client.ts";
import { classNames } from "../class-names.ts";
import { Icon, type IconName } from "../display/Icon.tsx";
import { ButtonLink, RefetchButton, ReloadButton } from "../form/Button.tsx";
import { usePageTitle } from "../page/Page.tsx";
import { lacking } from "../session.tsx";
import shared from "../shared.module.css";
import css from "./feedback.module.css";
import { reasonOf } from "./Notice.tsx";

/** Says why something could not be loaded, and what to do, in its place. Something that was loaded once stays on the page instead. */
export function LoadError({ error, what, level = 2 }: { error: unknown; what: string; level?: 1 | 2 }) {
  const { status, problem } = error instanceof ApiProblem ? error : {};
  if (status === 401) return <SignedOut signInUrl={problem?.signInUrl} />;
  if (problem?.missing) return <NotAllowed missing={problem.missing} />;
  const state = { level, title: `Could not load ${what}`, children: <p>{reasonOf(error)}</p> };
  if (status === 404) {
    const title = `There is no ${what.replace(/^(the|your) /, "")} here`;
    return (
      <EmptyState {...state} title={title} icon="search" action={<ButtonLink href="/">All webhooks</ButtonLink>} />
    );
  }
  if (error instanceof AnsweredByAnother) return <EmptyState {...state} icon="lock" action={<ReloadButton />} />;
  return (
    <EmptyState
      {...state}
      icon={error instanceof ApiUnreachable ? "offline" : "alert"}
      action={status === 400 ? null : <RefetchButton>Try again</RefetchButton>}
    >
      {state.children}
      <p>{status === 400 ? "Change or clear the filter." : "The page asks again every few seconds."}</p>
    </EmptyState>
  );
}

/** Stands in the place of something that is still being loaded, or says why it could not be. */
export function NotLoaded({ error, what, level = 2 }: { error: unknown; what: string; level?: 1 | 2 }) {
  return error ? <LoadError error={error} what={what} level={level} /> : <Skeleton what={what} />;
}

function SignedOut({ signInUrl }: { signInUrl: string | undefined }) {
  usePageTitle("Sign in");
  return (
    <EmptyState icon="lock" title="You are not signed in" level={1} action={<RefetchButton>Try again</RefetchButton>}>
      <p>
        Your session has ended, or has not begun.{" "}
        {signInUrl ? <a href={signInUrl}>Sign in</a> : "Sign in to your product, then come back to this page"}.
      </p>
    </EmptyState>
  );
}

export function NotAllowed({ missing }: { missing: readonly string[] }) {
  usePageTitle("Not allowed");
  return (
    <EmptyState
      icon="lock"
      title="You may not see webhooks"
      level={1}
      action={<RefetchButton>Try again</RefetchButton>}
    >
      <p>You need a right for that: {lacking(missing)}.</p>
      <p>An administrator of your organization can grant it.</p>
    </EmptyState>
  );
}

export function NotFound() {
  usePageTitle("Not found");
  return (
    <EmptyState
      icon="search"
      title="There is nothing at this address"
      level={1}
      action={<ButtonLink href="/">All webhooks</ButtonLink>}
    >
      <p>It may be mistyped, or what was here has been deleted.</p>
    </EmptyState>
  );
}

interface Props {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** It stands for the whole page. */
  level?: 1 | 2;
}

export function EmptyState({ icon, title, children, action, level = 2 }: Props) {
  const Heading = level === 1 ? "h1" : "h2";
  return (
    <div className={css.empty}>
      <span className={css.icon}>
        <Icon name={icon} size={28} />
      </span>
      <Heading className={css.title}>{title}</Heading>
      <div className={classNames(shared.column, shared.soft, css.text)}>{children}</div>
      {action ? <div className={classNames(shared.row, css.action)}>{action}</div> : null}
    </div>
  );
}

/** The shape of rows to come. Quick answers never show it. */
export function Skeleton({ what }: { what: string }) {
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), 120);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={css.skeleton} role="status" data-visible={visible || undefined}>
      <span className={shared.unseen}>Loading {what}…</span>
      {Array.from({ length: 4 }, (_, row) => (
        <span key={row} className={css.row} />
      ))}
    </div>
  );
}
