/** How the rows of a table belong to an organization, and so move with its bucket. */
export type Belonging =
  /** The column that names the organization or the endpoint, and the key by which its rows are read in pages. */
  | { of: "organization" | "endpoint"; column: string; key: string; type: "uuid" | "text" }
  /** Its rows move with those of `delivery` that they belong to. */
  | { of: "delivery" }
  | { stays: string };

/** Every table of the schema. A test holds this list against the database. */
export const TABLES = {
  webhook_endpoint: { of: "organization", column: "organization_id", key: "id", type: "uuid" },
  business_event: { of: "organization", column: "organization_id", key: "key", type: "uuid" },
  idempotency_key: { of: "organization", column: "organization_id", key: "key", type: "text" },
  endpoint_change: { of: "organization", column: "organization_id", key: "id", type: "uuid" },
  catch_up: { of: "endpoint", column: "endpoint_id", key: "endpoint_id", type: "uuid" },
  digest: { of: "endpoint", column: "endpoint_id", key: "endpoint_id", type: "uuid" },
  resend: { of: "endpoint", column: "endpoint_id", key: "id", type: "uuid" },
  delivery: { of: "endpoint", column: "endpoint_id", key: "id", type: "uuid" },
  delivery_attempt: { of: "delivery" },
  due: { of: "delivery" },
  notice: { stays: "The cell that made it publishes it: all cells share the exchange." },
  exhaustion: { stays: "The cell that gave the deliveries up tells it with its next digest." },
  erasure: { stays: "Its endpoint is gone, and what is left of it is erased where it is." },
  dispatcher: { stays: "It is of a process, and not of an organization." },
  restore: { stays: "It is of a database, and not of an organization." },
  _prisma_migrations: { stays: "It is of a database, and not of an organization." },
} as const satisfies Record<string, Belonging>;

export type PagedTable = {
  [Name in keyof typeof TABLES]: (typeof TABLES)[Name] extends { key: string } ? Name : never;
}[keyof typeof TABLES];

/** The tables whose rows are read in pages of one organization, or of one endpoint, in the order in which they move. */
export function pagedTables(of: "organization" | "endpoint"): PagedTable[] {
  return Object.entries<Belonging>(TABLES).flatMap(([name, belonging]) =>
    "of" in belonging && belonging.of === of ? [name as PagedTable] : [],
  );
}
