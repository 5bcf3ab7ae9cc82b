import type { EndpointOverview } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo } from "react";
import { useSearchParams } from "wouter";
import { overviewQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { type EndpointStatus, endpointStatus, needOf } from "../../common/display/status.ts";
import { EmptyState, NotLoaded } from "../../common/feedback/LoadError.tsx";
import { RefreshProblem, StandstillNotice } from "../../common/feedback/Notice.tsx";
import { Button, ButtonLink } from "../../common/form/Button.tsx";
import { Choices } from "../../common/form/Field.tsx";
import { folded } from "../../common/formats.ts";
import { NoMatch } from "../../common/page/LiveList.tsx";
import { OrganizationPage, Panel } from "../../common/page/Page.tsx";
import { product } from "../../common/product.ts";
import { useManageBlock } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { SeveralButton } from "./Several.tsx";
import { WebhookTable } from "./WebhookTable.tsx";

export function WebhookList() {
  const { data: webhooks, error } = useQuery(overviewQuery);
  return (
    <OrganizationPage
      title="Webhooks"
      words={`${product.name} sends your organization's business events to these receivers, signed and retried.`}
      actions={<NewWebhookButton />}
    >
      {webhooks ? (
        <>
          <RefreshProblem error={error} what="the list" />
          <Loaded webhooks={webhooks} />
        </>
      ) : (
        <Panel>
          <NotLoaded error={error} what="the webhooks" />
        </Panel>
      )}
    </OrganizationPage>
  );
}

function NewWebhookButton() {
  const block = useManageBlock();
  return block ? (
    <Button kind="primary" icon="plus" disabledReason={block}>
      New webhook
    </Button>
  ) : (
    <ButtonLink kind="primary" icon="plus" href="/webhooks/new">
      New webhook
    </ButtonLink>
  );
}

function Loaded({ webhooks }: { webhooks: EndpointOverview[] }) {
  const [search] = useSearchParams();
  const filter = useDeferredValue(search.toString());
  const rows = useMemo(() => listed(webhooks, statusFromSearch(new URLSearchParams(filter))), [webhooks, filter]);
  if (webhooks.length === 0) return <NoWebhooks />;
  return (
    <>
      <StandstillNotice webhook={webhooks[0]} />
      <Panel>
        {webhooks.length > 1 ? <ListControls webhooks={webhooks} rows={rows} /> : null}
        {rows.length > 0 ? (
          <WebhookTable webhooks={rows} list={filter} />
        ) : (
          <NoMatch what="webhooks" home="/" filters="status" />
        )}
      </Panel>
    </>
  );
}

function NoWebhooks() {
  // What tools call Herald by: the page's address without its own path.
  const herald = document.baseURI.replace(/\/administration\/.*$/, "");
  return (
    <Panel>
      <EmptyState icon="send" title="No webhooks yet" action={<NewWebhookButton />}>
        <p>
          A webhook names an HTTPS address of yours and the events that it gets. {product.name} posts each event there
          and signs it.
        </p>
        <p>You need a receiver that answers with 2xx, and a place to keep its signing secret.</p>
        <p>
          None yet? On a developer's machine, with a token in <code>HERALD_TOKEN</code>,{" "}
          <code>npx --no -- herald-listen --herald {herald}</code> is one: it makes a webhook, prints each event and
          whether its signature is right, and deletes the webhook at its end.
        </p>
      </EmptyState>
    </Panel>
  );
}

const words: Record<EndpointStatus, string> = {
  active: "Active",
  failing: "Failing",
  quarantined: "Waiting",
  paused: "Paused",
  disabled: "Disabled",
};

const STATUSES = Object.keys(words) as EndpointStatus[];

/** Narrows the list by status, which lives in the page's address, and changes several of its rows. */
function ListControls({ webhooks, rows }: Record<"webhooks" | "rows", readonly EndpointOverview[]>) {
  const [search, setSearch] = useSearchParams();
  const countOf = (status: EndpointStatus) => webhooks.filter((each) => endpointStatus(each) === status).length;
  return (
    <search className={classNames(shared.bar, shared.strip)}>
      <Choices
        name="Status"
        value={statusFromSearch(search) ?? "all"}
        options={[
          { value: "all", words: "All", count: webhooks.length },
          ...STATUSES.map((status) => ({ value: status, words: words[status], count: countOf(status) })),
        ]}
        onChange={(value) => setSearch(value === "all" ? {} : { status: value }, { replace: true })}
      />
      <SeveralButton webhooks={rows} />
    </search>
  );
}

function statusFromSearch(search: URLSearchParams): EndpointStatus | null {
  return STATUSES.find((status) => status === search.get("status")) ?? null;
}

function listed(webhooks: readonly EndpointOverview[], status: EndpointStatus | null): EndpointOverview[] {
  return inOrder(webhooks.filter((webhook) => status === null || endpointStatus(webhook) === status));
}

export function withText(webhooks: readonly EndpointOverview[], text: string): EndpointOverview[] {
  const wanted = folded(text);
  return inOrder(webhooks.filter(({ name, url }) => folded(`${name}\n${url}`).includes(wanted)));
}

function inOrder(webhooks: readonly EndpointOverview[]): EndpointOverview[] {
  return [...webhooks].sort(
    (one, other) => needOf(one) - needOf(other) || byName.compare(one.name, other.name) || (one.id < other.id ? -1 : 1),
  );
}

const byName = new Intl.Collator(undefined, { numeric: true });
