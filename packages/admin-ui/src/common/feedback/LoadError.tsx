import { useQueryClient } from "@tanstack/react-query";
import { ApiProblem, ApiUnreachable } from "../../api/problem.ts";
import { Button, ButtonLink } from "../form/Button.tsx";
import { usePageTitle } from "../page/PageHead.tsx";
import { product } from "../product.ts";
import { lacking } from "../session.tsx";
import { EmptyState } from "./EmptyState.tsx";

/**
 * Says why something could not be loaded, and what to do, in its place. What was loaded once stays on the page instead.
 */
export function LoadError({ error, what, level = 1 }: { error: unknown; what: string; level?: 1 | 2 }) {
  if (error instanceof ApiProblem && error.status === 401) return <SignedOut signInUrl={error.problem.signInUrl} />;
  if (error instanceof ApiProblem && error.status === 403) return <NotAllowed missing={error.problem.missing ?? []} />;
  if (error instanceof ApiProblem && error.status === 404) {
    return (
      <EmptyState
        icon="search"
        title={`There is no ${what.replace(/^(the|your) /, "")} here`}
        level={level}
        action={<ButtonLink href="/">All webhooks</ButtonLink>}
      >
        <p>{error.message}</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={error instanceof ApiUnreachable ? "offline" : "alert"}
      title={`Could not load ${what}`}
      level={level}
      action={<TryAgain />}
    >
      <p>
        {error instanceof ApiUnreachable
          ? `${product.name}'s API can't be reached. ${error.message}`
          : messageOf(error)}
      </p>
      <p>The page asks again every few seconds.</p>
    </EmptyState>
  );
}

function SignedOut({ signInUrl }: { signInUrl: string | undefined }) {
  usePageTitle("Sign in");
  return (
    <EmptyState icon="lock" title="You are not signed in" level={1} action={<TryAgain />}>
      <p>
        Your session has ended, or has not begun.{" "}
        {signInUrl ? <a href={signInUrl}>Sign in</a> : "Sign in to your product, then come back to this page"}.
      </p>
    </EmptyState>
  );
}

/** For an account that may not even view webhooks. */
export function NotAllowed({ missing }: { missing: readonly string[] }) {
  usePageTitle("Not allowed");
  return (
    <EmptyState icon="lock" title="You may not see webhooks" level={1} action={<TryAgain />}>
      <p>You need a right for that: {lacking(missing)}.</p>
      <p>Who administers your organization can grant it.</p>
    </EmptyState>
  );
}

function TryAgain() {
  const client = useQueryClient();
  return (
    <Button icon="retry" onClick={() => void client.refetchQueries({ type: "active" })}>
      Try again
    </Button>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
