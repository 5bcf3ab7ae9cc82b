create table if not exists "herald_outbox" (
  number bigint generated always as identity primary key,
  -- Filled by the service, in its transaction: the event as JSON, and the W3C trace context, if there is one.
  event text not null,
  traceparent text,
  -- Filled by the database and by the relay.
  added_at timestamptz not null default now(),
  sent_at timestamptz,
  refused text
);
create index if not exists "herald_outbox_waiting" on "herald_outbox" (number) where sent_at is null and refused is null;
create index if not exists "herald_outbox_sent" on "herald_outbox" (sent_at, number) where sent_at is not null;
create index if not exists "herald_outbox_refused" on "herald_outbox" (number) where refused is not null;
