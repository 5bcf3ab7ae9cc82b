export type ServiceName = "management-api" | "publisher" | "dispatcher";

/**
 * What each service's user has to be granted, in the words of `grant`. deploy/postgres/service-roles.sql says why; a test holds
 * both against each other.
 */
export const NEEDED_RIGHTS: Readonly<Record<ServiceName, readonly string[]>> = {
  "management-api": [
    "execute on function id_of(bytea, bytea), event_key(text, uuid, timestamptz), delivery_id(uuid, uuid)",
    "select (id, organization_id, name, url, enabled, events, revision, consecutive_failures, failure_run, failed_at, paused_until, failing_told, failing_told_at, disabled_reason, disabled_at, disabled_by, created_at, updated_at) on webhook_endpoint",
    "insert, update, delete on webhook_endpoint",
    "select, insert, update, delete on catch_up",
    "insert on erasure, notice",
    "select, insert on endpoint_change",
    "select, insert on resend",
    "update (state, stop_reason, stopped_by, ended_at, due_at) on resend",
    "select, insert, update, delete on idempotency_key",
    "select, insert on delivery, due",
    "select on business_event, attempt, dispatcher, restore",
  ],
  publisher: [
    "execute on function id_of(bytea, bytea), event_key(text, uuid, timestamptz), delivery_id(uuid, uuid)",
    "execute on function make_partitions(date), drop_partitions(date, integer)",
    "select (id, organization_id, enabled, events, created_at, revision, paused_until) on webhook_endpoint",
    "select, insert, delete on business_event, delivery, due",
    "select, delete on delivery_attempt, business_event_rest, delivery_rest, delivery_attempt_rest",
    "select on attempt",
    "select on restore",
    "select, update, delete on catch_up, erasure",
    "select, delete on endpoint_change",
    "select, delete on resend",
    "update (cursor_id, state, stop_reason, ended_at, due_at) on resend",
    "select, insert, delete on notice",
    "update (publish_at) on notice",
    "select, delete on exhaustion",
    "select, insert, update, delete on digest",
  ],
  dispatcher: [
    "execute on function id_of(bytea, bytea), event_key(text, uuid, timestamptz), delivery_id(uuid, uuid)",
    "select on webhook_endpoint, business_event, delivery, delivery_attempt",
    "update (consecutive_failures, failure_run, failed_at, paused_until, failing_told, failing_told_at, enabled, disabled_reason, disabled_at, revision, updated_at) on webhook_endpoint",
    "select, insert, update, delete on dispatcher",
    "select on restore",
    "select, delete on due",
    "update (due_at, claim_id, attempts, interruptions) on due",
    "update (state, attempt_count, attempted_at, duration_ms, status_code, error_summary, failure_kind, response_excerpt, traceparent) on delivery",
    "insert on delivery_attempt",
    "insert on notice, exhaustion, endpoint_change",
  ],
};

/** A right on one table, on one column of it, or on one function. */
export interface Right {
  privilege: string;
  /** A table's name, or a function's signature. */
  object: string;
  isFunction: boolean;
  /** Null for the whole table. */
  column: string | null;
}

/** The single rights of grants, each once. */
export function rightsOf(grants: readonly string[]): Right[] {
  const rights = grants.flatMap((grant) => {
    const [privileges = "", objects = ""] = grant.split(/ on (?:function )?/);
    const isFunction = grant.includes(" on function ");
    const names = objects.match(isFunction ? /\w+\([^)]*\)/g : /\w+/g) ?? [];
    return [...privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].flatMap(([, privilege = "", columns]) =>
      names.flatMap((object) =>
        (columns?.split(", ") ?? [null]).map((column) => ({ privilege, object, isFunction, column })),
      ),
    );
  });
  return [...new Map(rights.map((right) => [nameOf(right), right])).values()];
}

/** As a person would grant it: "update (publish_at) on notice". */
export function nameOf({ privilege, object, isFunction, column }: Right): string {
  const columns = column === null ? "" : ` (${column})`;
  return `${privilege}${columns} on ${isFunction ? "function " : ""}${object}`;
}
