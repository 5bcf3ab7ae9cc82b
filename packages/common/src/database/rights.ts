import type pg from "pg";

export type ServiceName = "management-api" | "publisher" | "dispatcher";

/** The users that deploy/postgres makes: one for each service, and one for `herald serve` and the command, which do the work of all. */
export const SERVICE_USERS: Readonly<Record<ServiceName, string>> = {
  "management-api": "herald_api",
  publisher: "herald_publisher",
  dispatcher: "herald_dispatcher",
};
export const USER_OF_ALL = "herald_app";

const IDS =
  "execute on function id_of(bytea, bytea), event_key(text, uuid, timestamptz), delivery_id(uuid, uuid), shard_of(uuid)" as const;

/** The rights to write a process's own facts into its row of `process`. */
const SAYS_FACTS = [
  "select on process",
  "insert (id, service, name, facts, said_at) on process",
  "update (service, name, facts, said_at) on process",
] as const;

/** The columns of a delivery that an attempt's result changes. */
const OUTCOME =
  "state, attempt_count, attempted_at, duration_ms, status_code, error_summary, failure_kind, response_excerpt, traceparent, next_attempt_at";

/** The rights that each service's user needs, in the words of `grant`, and no more than its work takes. */
export const NEEDED_RIGHTS: Readonly<Record<ServiceName, readonly string[]>> = {
  // The management API keeps endpoints, makes manual deliveries, and leaves the publisher work: catch-ups, resends and erasures. What
  // publishers and dispatchers have written it reads. Signing secrets it writes, sealed as they are, and never reads. Sealed values of
  // own headers it reads, since an edit may keep one of them.
  "management-api": [
    IDS,
    "select (id, organization_id, name, url, enabled, events, headers, revision, consecutive_failures, failure_run, failed_at, paused_until, failing_told, failing_told_at, disabled_reason, disabled_at, disabled_by, quarantined_at, created_at, updated_at) on webhook_endpoint",
    "insert, update, delete on webhook_endpoint",
    "select, insert, update, delete on catch_up",
    "insert on erasure, notice",
    "select, insert on endpoint_change",
    "select, insert on resend",
    "update (state, stop_reason, stopped_by, ended_at, due_at) on resend",
    "select, insert on delivery, due",
    "select on business_event, undelivered_event, attempt, shard, endpoint_hour",
    ...SAYS_FACTS,
  ],
  // Stores events, makes deliveries of them, and erases what is old or of a deleted endpoint. It never sees a signing secret, sealed
  // as it is, and changes no endpoint, and of a delivery no more than that it has expired. It alone makes and drops partitions, with
  // the owner's rights.
  publisher: [
    IDS,
    "execute on function make_partitions(date, date), drop_partitions(date)",
    "select (id, organization_id, name, url, enabled, events, created_at, revision, consecutive_failures, paused_until, disabled_reason, quarantined_at) on webhook_endpoint",
    "select, insert, delete on business_event, delivery, due",
    "update (state) on delivery",
    "select, delete on delivery_attempt",
    "select on attempt",
    ...SAYS_FACTS,
    // It hands deliveries over to the owners of their endpoints' shards.
    "select on shard",
    "select, update, delete on catch_up, erasure",
    "select, delete on endpoint_change, endpoint_hour",
    "select, delete on resend",
    "update (cursor_id, state, stop_reason, ended_at, due_at) on resend",
    // The publisher makes notices of events that it rejects, and of deliveries that were given up.
    "select, insert, delete on notice, undelivered_event",
    "update (publish_at) on notice",
    "select, insert, delete on exhaustion",
    "select, insert, update, delete on digest",
  ],
  // Makes attempts and stores their results. It inserts no endpoint, and a delivery only of an event, with the result of its first attempt. It deletes
  // nothing of the history. It updates an endpoint's health and state, and not its URL, so it can't redirect deliveries.
  dispatcher: [
    IDS,
    "select on webhook_endpoint, business_event, delivery, delivery_attempt",
    "update (consecutive_failures, failure_run, failed_at, paused_until, failing_told, failing_told_at, enabled, disabled_reason, disabled_at, quarantined_at, revision, updated_at) on webhook_endpoint",
    "select, insert, update, delete on process",
    "select on shard",
    "update (owner, epoch, on_arrival_from) on shard",
    "select, insert, delete on due",
    "update (due_at, attempts, interruptions) on due",
    `update (${OUTCOME}) on delivery`,
    `insert (id, endpoint_id, organization_id, event_key, event_type, created_at, ${OUTCOME}) on delivery`,
    "insert on delivery_attempt",
    "select, insert, update on endpoint_hour",
    "insert on notice, exhaustion, endpoint_change",
  ],
};

/** All rights on rows, and none on tables: the user can't alter or truncate one. It may only read which migrations were applied. */
const RIGHTS_OF_ALL: readonly string[] = [
  "select, insert, update, delete on all tables in schema public",
  "execute on all functions in schema public",
];

/**
 * Grants each of Herald's users that exists what it needs, as part of a migration, since rights name tables and columns. Takes no
 * right away: the version before may run on beside.
 * @param client in a transaction. Two at once would meet each other on the tables' rows in the catalogue: the caller holds a lock
 * @returns the users; none if this user does not own the tables
 */
export async function grantRights(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select rolname as name from pg_roles
     where rolname = any($1) and pg_has_role((select relowner from pg_class where oid = to_regclass('webhook_endpoint')), 'usage')
     order by rolname`,
    [[...Object.values(SERVICE_USERS), USER_OF_ALL]],
  );
  const users = rows.map(({ name }) => name);
  for (const [service, user] of Object.entries(SERVICE_USERS)) {
    if (!users.includes(user)) continue;
    for (const right of NEEDED_RIGHTS[service as ServiceName]) await client.query(`grant ${right} to ${user}`);
    await client.query(`grant select on _prisma_migrations to ${user}`);
  }
  if (users.includes(USER_OF_ALL)) {
    for (const right of RIGHTS_OF_ALL) await client.query(`grant ${right} to ${USER_OF_ALL}`);
    await client.query(`revoke insert, update, delete on _prisma_migrations from ${USER_OF_ALL}`);
  }
  return users;
}
