import type { EndpointOverview } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo } from "react";
import { Link, useSearchParams } from "wouter";
import { overviewQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { type EndpointStatus, endpointStatus, inWords, needOf } from "../../common/display/status.ts";
import { EmptyState, NotLoaded } from "../../common/feedback/LoadError.tsx";
import { Notice, RefreshProblem, StandstillNotice } from "../../common/feedback/Notice.tsx";
import { Button, ButtonLink } from "../../common/form/Button.tsx";
import { Choices } from "../../common/form/Field.tsx";
import { folded } from "../../common/formats.ts";
import { OrganizationPage, Panel } from "../../common/page/Page.tsx";
import { product } from "../../common/product.ts";
import { useManageBlock, useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { SeveralButton } from "./Several.tsx";
import { WebhookTable } from "./WebhookTable.tsx";

/** Every webhook of the organization, with its state. */
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
          <NotLoaded error={error} what="the webhooks" rows={6} />
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
      <Attention webhooks={webhooks} />
      <Panel>
        {webhooks.length > 1 ? <ListControls webhooks={webhooks} rows={rows} /> : null}
        {rows.length > 0 ? <WebhookTable webhooks={rows} list={filter} /> : <NoMatch />}
      </Panel>
    </>
  );
}

/** The webhooks that need an admin. They come first, since most admins open the page because of them. */
function Attention({ webhooks }: { webhooks: EndpointOverview[] }) {
  const { limits } = useSession();
  const disabled = webhooks.filter((webhook) => endpointStatus(webhook) === "disabled");
  if (disabled.length === 0) return null;
  const failures = `${inWords(limits.disableAfterFailures)} failures in a row`;
  return (
    <Notice
      tone="bad"
      title={
        disabled.length === 1
          ? `One webhook was disabled after ${failures}: nothing is sent to it.`
          : `${disabled.length} webhooks were disabled after ${failures}: nothing is sent to them.`
      }
    >
      <ul className={shared.row}>
        {disabled.slice(0, 5).map((webhook) => (
          <li key={webhook.id}>
            <Link href={`/webhooks/${webhook.id}`}>See why {webhook.name} is disabled</Link>
          </li>
        ))}
        {disabled.length > 5 ? (
          <li>
            <Link href="/?status=disabled">Show all {disabled.length}</Link>
          </li>
        ) : null}
      </ul>
    </Notice>
  );
}

function NoWebhooks() {
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
          <code>npx --no -- herald-listen --herald {ownAddress()}</code> is one: it makes a webhook, prints each event
          and whether its signature is right, and deletes the webhook at its end.
        </p>
      </EmptyState>
    </Panel>
  );
}

/** What tools call Herald by: the page's address without its own path. */
function ownAddress(): string {
  return document.baseURI.replace(/\/administration\/.*$/, "");
}

function NoMatch() {
  return (
    <EmptyState icon="search" title="No webhook matches" action={<ButtonLink href="/">Show all</ButtonLink>}>
      <p>Choose another status.</p>
    </EmptyState>
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

/** The status that the list is narrowed to, from the page's address. */
function statusFromSearch(search: URLSearchParams): EndpointStatus | null {
  return STATUSES.find((status) => status === search.get("status")) ?? null;
}

function listed(webhooks: readonly EndpointOverview[], status: EndpointStatus | null): EndpointOverview[] {
  return inOrder(webhooks.filter((webhook) => status === null || endpointStatus(webhook) === status));
}

/** Those with a text in their name or URL. */
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
