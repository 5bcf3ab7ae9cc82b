import { EmptyState } from "../../common/feedback/EmptyState.tsx";
import { ButtonLink } from "../../common/form/Button.tsx";
import { usePageTitle } from "../../common/page/use-page-title.ts";

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
