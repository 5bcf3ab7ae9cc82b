import type { EndpointChange } from "@herald/contracts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { changesQuery } from "../../api/queries.ts";
import display from "../../common/display/display.module.css";
import { EmptyState } from "../../common/feedback/LoadError.tsx";
import { LiveList } from "../../common/page/LiveList.tsx";
import { OrganizationPage, Panel } from "../../common/page/Page.tsx";
import { Time } from "../../common/Time.tsx";
import css from "./Changes.module.css";
import { type ChangedField, changeAuthor, changedFields, changeTitle } from "./change-words.ts";

/**
 * Who changed a webhook's settings, or sent something by hand; when, and what was before.
 * @param id the webhook's; null for all of the organization's, deleted ones too
 */
export function Changes({ id }: { id: string | null }) {
  const query = useInfiniteQuery(changesQuery(id));
  const changes = query.data?.pages.flatMap((page) => page.changes) ?? [];
  return (
    <Panel {...(id !== null && { title: "Changes" })}>
      <LiveList query={query} count={changes.length} what="changes" none={<None />} skeletonRows={4}>
        <ol className={display.ruled} aria-label="Changes, newest first">
          {changes.map((change) => (
            <Change
              key={`${change.endpointId} ${change.version} ${change.changedAtUtc} ${change.delivered?.deliveryId}`}
              change={change}
              ofAll={id === null}
            />
          ))}
        </ol>
      </LiveList>
    </Panel>
  );
}

function None() {
  return (
    <EmptyState icon="clock" title="No change is kept">
      <p>Changes are kept as long as deliveries. There has been none since.</p>
    </EmptyState>
  );
}

function Change({ change, ofAll }: { change: EndpointChange; ofAll: boolean }) {
  const fields = changedFields(change);
  return (
    <li className={css.change}>
      <p className={css.head}>
        <span>
          {ofAll ? (
            <>
              <Link href={`/webhooks/${change.endpointId}`}>{change.endpointName}</Link>:{" "}
            </>
          ) : null}
          <strong>{changeTitle(change)}</strong> by {changeAuthor(change)}
        </span>
        <span className={display.soft}>
          <Time iso={change.changedAtUtc} />
        </span>
      </p>
      {fields.length > 0 ? (
        <dl className={css.fields}>
          {fields.map((field) => (
            <div key={field.name} className={css.field}>
              <dt>{field.name}</dt>
              <dd>
                <Value field={field} />
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
    </li>
  );
}

function Value({ field: { before, after } }: { field: ChangedField }) {
  if (before === null) return after;
  return (
    <>
      <del className={display.soft}>{before}</del> <ins className={css.after}>{after}</ins>
    </>
  );
}

/** Who did what with the organization's webhooks. */
export function AllChanges() {
  return (
    <OrganizationPage
      title="Changes"
      words="Who changed webhooks, sent payloads by hand, or had deliveries sent again. Deleted webhooks stay in it."
    >
      <Changes id={null} />
    </OrganizationPage>
  );
}
