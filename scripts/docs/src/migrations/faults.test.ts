import { migrationsFolder, readMigrations } from "@herald/common/database/migrations-folder";
import { expect, test } from "@jest/globals";
import { migrationFaults } from "./faults.ts";

const FIRST = { name: "20260101000000_init", sql: 'create table "delivery" ("id" uuid);', checksum: "" };
const NO_TRANSACTION = "-- herald: no transaction\n";

function faultsOf(sql: string): string[] {
  return migrationFaults([FIRST, { name: "20260201000000_change", sql, checksum: "" }]);
}

test.each<[statement: string, why: string]>([
  ["drop table delivery", "still uses it"],
  ['DROP VIEW "attempt"', "still uses it"],
  ["drop index delivery_endpoint_id_id_idx", "still uses it"],
  ["drop index concurrently delivery_endpoint_id_id_idx", "still uses it"],
  ["drop function delivery_id(uuid, uuid)", "still uses it"],
  ["truncate delivery", "none of the statements"],
  ["alter table delivery drop column body", "still uses it"],
  ['ALTER TABLE "delivery" DROP CONSTRAINT "delivery_pkey"', "still uses it"],
  ["alter table if exists only delivery rename to deliveries", "old name"],
  ["alter table delivery rename column body to content", "old name"],
  ["alter table delivery set schema other", "old name"],
  ["alter type delivery_state rename value 'pending' to 'open'", "old name"],
  ["alter table delivery alter column body type bytea using body::bytea", "writes the whole table"],
  ["alter table delivery alter attempt_count set data type bigint", "writes the whole table"],
  ["alter table delivery set unlogged", "writes the whole table"],
  ["alter table delivery alter column body set not null", "without it"],
  ["alter table delivery alter column state drop default", "without it"],
  ["alter table delivery add column note text not null", "without it"],
  ['ALTER TABLE "delivery" ADD COLUMN     "note" TEXT NOT NULL', "without it"],
  ["alter table delivery add note text unique", "Old rows may break it"],
  ["alter table delivery add column number serial", "writes the whole table"],
  ["alter table delivery add column made_id uuid not null default gen_random_uuid()", "writes the whole table"],
  ["alter table delivery add column made_at timestamptz default clock_timestamp()", "writes the whole table"],
  ["alter table delivery add column size int generated always as (length(body)) stored", "writes the whole table"],
  ["alter table delivery add column event uuid references business_event (key)", "reads the whole table"],
  ["alter table delivery add column share int check (share > 0)", "reads the whole table"],
  ["alter table delivery add constraint one unique (event_key)", "Old rows may break it"],
  ["alter table delivery add constraint small check (attempt_count < 9)", "reads the whole table"],
  ["alter table delivery add constraint small check (attempt_count < 9) not valid", "may write rows that break it"],
  ["alter table delivery add foreign key (endpoint_id) references webhook_endpoint (id)", "reads the whole table"],
  ["alter table delivery attach partition other for values from (1) to (2)", "none of the statements"],
  ["create unique index on delivery (event_key)", "Old rows may break it"],
  ['CREATE INDEX "delivery_body_idx" ON "delivery"("body")', "while the index is built"],
  ["create index concurrently on delivery (body)", "refuses it in a transaction"],
  ["create table part partition of delivery default", "none of the statements"],
  ["create table note (delivery_id uuid references delivery (id))", "none of the statements"],
  ["create trigger t before insert on delivery for each row execute function f()", "none of the statements"],
  ["create or replace function delivery_id(uuid, uuid) returns uuid language sql as $$ select $1 $$", "as it was"],
  ["create extension pgcrypto", "none of the statements"],
  ["revoke select on delivery from herald_api", "none of the statements"],
  ["update delivery set body = null", "holds every row"],
  ["delete from delivery", "holds every row"],
  ["with gone as (delete from delivery returning id) select from gone", "holds every row"],
  ["lock table delivery", "none of the statements"],
  ["do $$ begin execute 'drop table delivery'; end $$", "can't be told"],
  ["commit", "none of the statements"],
])("it refuses: %s", (statement, why) => {
  const faults = faultsOf(`-- A comment.\nset lock_timeout = '1s';\n${statement};`);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(/^prisma\/migrations\/20260201000000_change\/migration\.sql:3: /);
  expect(faults[0]).toMatch(new RegExp(why));
});

test.each([
  ["a nullable column", 'ALTER TABLE "delivery" ADD COLUMN "note" TEXT;'],
  ["a column whose name is a word", 'alter table delivery add column "unique" text, add column "not null" text;'],
  ["a column with a constant default", "alter table delivery add column note text not null default 'a, b';"],
  ["an array with a default", 'ALTER TABLE "delivery" ADD COLUMN "types" TEXT[] DEFAULT ARRAY[]::TEXT[];'],
  [
    "a column that has the time of the migration",
    "alter table delivery add made_at timestamptz(3) not null default now();",
  ],
  ["another default", "alter table delivery alter column state set default 'pending';"],
  ["room on the page", "alter table due set (fillfactor = 60);"],
  ["a value of an enum", "alter type notice_type add value 'endpoint.renamed';"],
  ["a new table with its indexes", 'create table "note" (id uuid primary key); create unique index on "note"(id);'],
  ["anything on a new table", "create table note (id uuid); alter table public.note add column text text not null;"],
  [
    "functions, views and types",
    "create function f() returns int language sql as $$ drop table x $$; create view v as select 1;",
  ],
  ["the validation of a constraint", "alter table delivery validate constraint small;"],
  ["rights", "grant select on delivery to herald_api;"],
  ["an index built beside the work", `${NO_TRANSACTION}create index concurrently on webhook_endpoint (name);`],
  ["an empty file", "-- nothing\n"],
])("it lets through: %s", (_title, sql) => {
  expect(faultsOf(sql)).toEqual([]);
});

test("each part of an alter table is judged", () => {
  expect(faultsOf("alter table delivery add column a text, drop column b, rename c to d;")).toHaveLength(2);
});

test("the first migration is free, since there is no version before", () => {
  const sql = "create table a (b int); drop table a; create unique index on a (b);";
  expect(migrationFaults([{ name: "1", sql, checksum: "" }])).toEqual([]);
});

test("a statement that a person has judged stays, and the reason above it is for that statement only", () => {
  const judged = "-- herald: safe, since 1.4.0 reads it nowhere.\ndrop table note;\n";
  expect(faultsOf(judged)).toEqual([]);
  expect(faultsOf(`${judged}drop table other;`)).toEqual([expect.stringContaining(":3: drop table other")]);
  expect(faultsOf("-- herald: safe, since\ndrop table note;")).toHaveLength(1);
});

test("a file without a transaction holds one statement", () => {
  const two = "create index concurrently on a (b);\ncreate index concurrently on a (c);";
  expect(faultsOf(`${NO_TRANSACTION}${two}`)).toEqual([expect.stringContaining(":3: a second statement")]);
});

test("the project's own migrations have no fault", () => {
  expect(migrationFaults(readMigrations(migrationsFolder()))).toEqual([]);
});
