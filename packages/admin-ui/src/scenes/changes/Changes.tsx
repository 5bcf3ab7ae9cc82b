import type { EndpointChange } from "@herald/contracts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { changesQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { EmptyState } from "../../common/feedback/LoadError.tsx";
import { LiveList } from "../../common/page/LiveList.tsx";
import { Facts, OrganizationPage, Panel } from "../../common/page/Page.tsx";
import shared from "../../common/shared.module.css";
import { Time } from "../../common/Time.tsx";
import { type ChangedField, changeAuthor, changedFields, changeTitle, creationWords } from "./change-words.ts";

/** @param id the webhook's; null for all of the organization's, deleted ones too */
export function Changes({ id }: { id: string | null }) {
  const query = useInfiniteQuery(changesQuery(id));
  const changes = query.data?.pages.flatMap((page) => page.changes) ?? [];
  return (
    <Panel title={id === null ? undefined : "Changes"}>
      <LiveList
        query={query}
        count={changes.length}
        what="changes"
        none={
          <EmptyState icon="clock" title="No change is kept">
            <p>Changes are kept as long as deliveries. There has been none since.</p>
          </EmptyState>
        }
      >
        <ol className={shared.ruled} aria-label="Changes, newest first">
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

function Change({ change, ofAll }: { change: EndpointChange; ofAll: boolean }) {
  const fields = changedFields(change);
  const author = changeAuthor(change);
  const creation = creationWords(change);
  return (
    <li className={classNames(shared.column, shared.item, shared.small)}>
      <p className={shared.bar}>
        <span>
          {ofAll ? (
            <>
              <Link href={`/webhooks/${change.endpointId}`}>{change.endpointName}</Link>:{" "}
            </>
          ) : null}
          <strong>{changeTitle(change)}</strong>
          {author === null ? null : ` by ${author}`}
          {creation === null ? null : <span className={shared.soft}>: {creation}</span>}
        </span>
        <span className={shared.soft}>
          <Time iso={change.changedAtUtc} />
        </span>
      </p>
      {fields.length > 0 ? (
        <Facts
          facts={Object.fromEntries(fields.map((field) => [field.name, <Value key={field.name} field={field} />]))}
        />
      ) : null}
    </li>
  );
}

function Value({ field: { before, after } }: { field: ChangedField }) {
  if (before === null) return after;
  return (
    <>
      <del className={shared.soft}>{before}</del> <ins>{after}</ins>
    </>
  );
}

export default function AllChanges() {
  return (
    <OrganizationPage
      title="Changes"
      words="Who changed webhooks, sent payloads by hand, or had deliveries sent again. Deleted webhooks stay in it."
    >
      <Changes id={null} />
    </OrganizationPage>
  );
}
