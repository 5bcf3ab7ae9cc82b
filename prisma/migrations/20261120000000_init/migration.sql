-- Ids are functions of what they name, and begin with its time. So the same event makes the same rows, however often it
-- comes, and from whatever backup; uniqueness is the primary key; new rows append at the right of each index; and a row's
-- partition follows from its id. packages/common/src/database/ids.ts has the same functions, held against these by a test.

-- A UUID of version 8: six bytes of time, the rest of a hash.
CREATE FUNCTION "id_of"(time_bytes BYTEA, hash BYTEA) RETURNS UUID LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT encode(
        set_byte(
            set_byte(time_bytes || substr(hash, 1, 10), 6, (get_byte(hash, 0) & 15) | 128),
            8, (get_byte(hash, 2) & 63) | 128),
        'hex')::uuid
$$;

-- The key of a business event: its organization, its id and the time when it occurred, in milliseconds.
CREATE FUNCTION "event_key"(organization_id TEXT, event_id UUID, occurred_at TIMESTAMPTZ) RETURNS UUID
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT id_of(
        substr(ms, 3, 6),
        sha256(convert_to(organization_id, 'UTF8') || '\x00'::bytea || uuid_send(event_id) || ms))
    FROM int8send((extract(epoch FROM occurred_at) * 1000)::bigint) AS time(ms)
$$;

-- The id of an event's delivery to an endpoint: the event's time, and a hash of both.
CREATE FUNCTION "delivery_id"(event_key UUID, endpoint_id UUID) RETURNS UUID LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT id_of(substr(uuid_send(event_key), 1, 6), sha256(uuid_send(event_key) || uuid_send(endpoint_id)))
$$;

-- The shard of an endpoint: the last byte of its id. Each of the 256 has one owner, a dispatcher.
CREATE FUNCTION "shard_of"(endpoint_id UUID) RETURNS SMALLINT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT get_byte(uuid_send(endpoint_id), 15)::smallint
$$;

-- CreateEnum
CREATE TYPE "disabled_reason" AS ENUM ('paused', 'failures');

-- CreateEnum
CREATE TYPE "changed_by" AS ENUM ('admin', 'operator', 'herald');

-- CreateEnum
CREATE TYPE "delivery_state" AS ENUM ('pending', 'succeeded', 'exhausted', 'expired');

-- CreateEnum
CREATE TYPE "undelivered_cause" AS ENUM ('rejected', 'in_future', 'unknown_type', 'too_old');

-- CreateEnum
CREATE TYPE "notice_type" AS ENUM ('endpoint.failing', 'endpoint.disabled', 'endpoint.recovered', 'endpoint.exhausted', 'endpoint.expired', 'endpoint.resumed', 'endpoint.secret_replaced', 'endpoint.deleted', 'event.rejected');

-- CreateEnum
CREATE TYPE "resend_state" AS ENUM ('running', 'finished', 'stopped');

-- CreateEnum
CREATE TYPE "resend_stop_reason" AS ENUM ('asked', 'disabled');

-- CreateTable
CREATE TABLE "webhook_endpoint" (
    "id" UUID NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "events" TEXT[],
    "sealed_secret" TEXT NOT NULL,
    "revision" BIGINT NOT NULL DEFAULT 1,
    "consecutive_failures" INTEGER NOT NULL DEFAULT 0,
    "failure_run" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "failed_at" TIMESTAMPTZ(3),
    "paused_until" TIMESTAMPTZ(3),
    "failing_told" BOOLEAN NOT NULL DEFAULT false,
    "failing_told_at" TIMESTAMPTZ(3),
    "disabled_reason" "disabled_reason",
    "disabled_at" TIMESTAMPTZ(3),
    "disabled_by" TEXT,
    "quarantined_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_endpoint_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "endpoint_change" (
    "id" UUID NOT NULL,
    "organization_id" TEXT NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "endpoint_name" TEXT NOT NULL,
    "revision" BIGINT NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,
    "changed_by" "changed_by" NOT NULL,
    "subject" TEXT,
    "name" TEXT,
    "before" JSONB,
    "after" JSONB,
    "secret_replaced" BOOLEAN NOT NULL DEFAULT false,
    "resent" INTEGER,
    "delivered" TEXT,

    CONSTRAINT "endpoint_change_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "catch_up" (
    "endpoint_id" UUID NOT NULL,
    "priority" SMALLINT NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "cursor" UUID,
    "again_at" TIMESTAMPTZ(3),
    "complete_to" TIMESTAMPTZ(3),

    CONSTRAINT "catch_up_pkey" PRIMARY KEY ("endpoint_id")
);

-- CreateTable
CREATE TABLE "erasure" (
    "endpoint_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "erasure_pkey" PRIMARY KEY ("endpoint_id")
);

-- The history: cut by days, over ids that begin with the time. The publisher makes partitions ahead, and drops those that are
-- too old; see services/publisher/src/partitions. There is no default partition: it would be locked and read whole for each new
-- one. No index on what changes, and room on the page (`fillfactor` of each partition), so that settling a delivery writes no index.

-- CreateTable
CREATE TABLE "business_event" (
    "organization_id" TEXT NOT NULL,
    "key" UUID NOT NULL,
    "id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "entity_id" UUID NOT NULL,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "body" TEXT NOT NULL,
    "traceparent" TEXT,

    CONSTRAINT "business_event_pkey" PRIMARY KEY ("organization_id","key")
) PARTITION BY RANGE ("key");

-- CreateTable
CREATE TABLE "delivery" (
    "id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "organization_id" TEXT NOT NULL,
    "event_key" UUID,
    "event_type" TEXT NOT NULL,
    "body" TEXT,
    "resend_of" UUID,
    "author" TEXT,
    "state" "delivery_state" NOT NULL DEFAULT 'pending',
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "attempted_at" TIMESTAMPTZ(3),
    "duration_ms" INTEGER,
    "status_code" INTEGER,
    "error_summary" TEXT,
    "failure_kind" TEXT,
    "response_excerpt" TEXT,
    "traceparent" TEXT,
    "next_attempt_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "delivery_pkey" PRIMARY KEY ("id")
) PARTITION BY RANGE ("id");

-- CreateTable
CREATE TABLE "delivery_attempt" (
    "delivery_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "status_code" INTEGER NOT NULL,
    "error_summary" TEXT,
    "failure_kind" TEXT,
    "response_excerpt" TEXT,
    "traceparent" TEXT,

    CONSTRAINT "delivery_attempt_pkey" PRIMARY KEY ("delivery_id","number")
) PARTITION BY RANGE ("delivery_id");

-- One row for each unfinished delivery. Its key is the order in which its endpoint's owner reads it, and the only index. A
-- delivery knows when its row is due (`next_attempt_at`, or else `created_at`), so whoever has a delivery finds the row.

-- CreateTable
CREATE TABLE "due" (
    "shard" SMALLINT NOT NULL GENERATED ALWAYS AS (shard_of("endpoint_id")) STORED,
    "endpoint_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "delivery_id" UUID NOT NULL,
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "interruptions" SMALLINT NOT NULL DEFAULT 0,

    CONSTRAINT "due_pkey" PRIMARY KEY ("shard","endpoint_id","due_at","delivery_id")
) WITH (
    -- Each settlement makes a dead row, in a table that is small and read all the time. So it is vacuumed after some thousands of
    -- them, whatever its size, and without rests.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

-- CreateTable
CREATE TABLE "resend" (
    "id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "organization_id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "subject" TEXT,
    "name" TEXT,
    "event_types" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "status_codes" INTEGER[] DEFAULT ARRAY[]::INTEGER[],
    "from_at" TIMESTAMPTZ(3),
    "to_at" TIMESTAMPTZ(3),
    "begin_id" UUID NOT NULL,
    "end_id" UUID NOT NULL,
    "cursor_id" UUID,
    "total" INTEGER NOT NULL,
    "bytes" BIGINT NOT NULL,
    "state" "resend_state" NOT NULL DEFAULT 'running',
    "stop_reason" "resend_stop_reason",
    "stopped_by" TEXT,
    "ended_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),

    CONSTRAINT "resend_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "endpoint_hour" (
    "endpoint_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "succeeded" INTEGER NOT NULL,
    "failed" INTEGER NOT NULL,
    "durations" INTEGER[],

    CONSTRAINT "endpoint_hour_pkey" PRIMARY KEY ("endpoint_id","hour")
);

-- CreateTable
CREATE TABLE "process" (
    "id" UUID NOT NULL,
    "service" TEXT NOT NULL,
    "name" TEXT NOT NULL DEFAULT '',
    "facts" JSONB NOT NULL DEFAULT '{}',
    "said_at" TIMESTAMPTZ(3),
    "alive_until" TIMESTAMPTZ(3),
    "able" BOOLEAN NOT NULL DEFAULT false,
    "outage_since" TIMESTAMPTZ(3),
    "place" TEXT,

    CONSTRAINT "process_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "shard" (
    "id" SMALLINT NOT NULL,
    "owner" UUID,
    "epoch" BIGINT NOT NULL DEFAULT 0,
    "stopped_at" TIMESTAMPTZ(3),

    CONSTRAINT "shard_pkey" PRIMARY KEY ("id")
);

INSERT INTO "shard" ("id") SELECT generate_series(0, 255);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "organization_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "target_id" UUID NOT NULL,
    "locked_until" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "answer" TEXT,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("organization_id","key")
);

-- CreateTable
CREATE TABLE "undelivered_event" (
    "event_id" UUID NOT NULL,
    "organization_id" TEXT NOT NULL,
    "cause" "undelivered_cause" NOT NULL,
    "type" TEXT,
    "reason" TEXT NOT NULL,
    "came_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "undelivered_event_pkey" PRIMARY KEY ("event_id","organization_id","cause")
);

-- CreateTable
CREATE TABLE "notice" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "type" "notice_type" NOT NULL,
    "organization_id" TEXT,
    "endpoint_id" UUID,
    "endpoint_name" TEXT,
    "endpoint_url" TEXT,
    "failure_run" TEXT[],
    "details" JSONB NOT NULL DEFAULT '{}',
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "publish_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "notice_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "exhaustion" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "endpoint_id" UUID NOT NULL,
    "state" "delivery_state" NOT NULL,
    "organization_id" TEXT NOT NULL,
    "endpoint_name" TEXT NOT NULL,
    "endpoint_url" TEXT NOT NULL,
    "deliveries" INTEGER NOT NULL,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "exhaustion_pkey" PRIMARY KEY ("state","endpoint_id","id")
);

-- CreateTable
CREATE TABLE "digest" (
    "state" "delivery_state" NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "made_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "digest_pkey" PRIMARY KEY ("state","endpoint_id")
);

-- CreateIndex
CREATE INDEX "webhook_endpoint_organization_id_id_idx" ON "webhook_endpoint"("organization_id", "id");

-- CreateIndex
CREATE INDEX "endpoint_change_organization_id_id_idx" ON "endpoint_change"("organization_id", "id");

-- CreateIndex
CREATE INDEX "endpoint_change_endpoint_id_id_idx" ON "endpoint_change"("endpoint_id", "id");

-- CreateIndex
CREATE INDEX "catch_up_priority_due_at_idx" ON "catch_up"("priority", "due_at");

-- CreateIndex
CREATE INDEX "business_event_organization_id_id_idx" ON "business_event"("organization_id", "id");

-- CreateIndex
CREATE INDEX "business_event_organization_id_entity_id_key_idx" ON "business_event"("organization_id", "entity_id", "key");

-- CreateIndex
CREATE INDEX "delivery_endpoint_id_id_idx" ON "delivery"("endpoint_id", "id");

-- What was sent again, for whoever looks for what wasn't. Partial, so that a delivery of an event has no entry in it.
CREATE INDEX "delivery_endpoint_id_resend_of_idx" ON "delivery"("endpoint_id", "resend_of") WHERE "resend_of" IS NOT NULL;

-- CreateIndex
CREATE INDEX "resend_endpoint_id_id_idx" ON "resend"("endpoint_id", "id");

-- CreateIndex
CREATE INDEX "resend_due_at_idx" ON "resend"("due_at");

-- CreateIndex
CREATE INDEX "endpoint_hour_hour_idx" ON "endpoint_hour"("hour");

-- CreateIndex
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");

-- CreateIndex
CREATE INDEX "undelivered_event_organization_id_came_at_idx" ON "undelivered_event"("organization_id", "came_at");

-- CreateIndex
CREATE INDEX "undelivered_event_came_at_idx" ON "undelivered_event"("came_at");

-- CreateIndex
CREATE INDEX "notice_publish_at_id_idx" ON "notice"("publish_at", "id");

-- Every attempt that has ended: the latest one is in its delivery's row, the earlier ones have rows of their own.
CREATE VIEW "attempt" AS
    SELECT "delivery_id", "number", "started_at", "duration_ms", "status_code", "error_summary", "failure_kind",
        "response_excerpt", "traceparent"
    FROM "delivery_attempt"
    UNION ALL
    SELECT "id", "attempt_count", "attempted_at", "duration_ms", "status_code", "error_summary", "failure_kind",
        "response_excerpt", "traceparent"
    FROM "delivery"
    WHERE "attempt_count" > 0;

-- Partitions are made and dropped by the publisher, which may be a user that owns no table: so by two functions with the rights
-- of the tables' owner. Their search path is fixed, with temporary objects last: otherwise who calls them could put a table of his
-- own, with a trigger, before one of Herald's, and the trigger would run as the owner. `herald migrate` gives publishers' users the
-- right to call them. Both are one statement each, which a pooler of transactions passes on as any other. All publishers take
-- turns (the advisory lock). The locks on tables are waited for very shortly, since everybody else waits behind who waits for
-- them; the caller tries again later.

-- Makes a partition of each table of the history, from a day in UTC up to another one, which it doesn't span. False where some of that
-- time has a partition already. Locks no table against reads and writes.
CREATE FUNCTION "make_partitions"(first_day DATE, end_day DATE) RETURNS BOOLEAN LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    low UUID := lpad(to_hex(extract(epoch FROM first_day)::bigint * 1000), 12, '0') || repeat('0', 20);
    high UUID := lpad(to_hex(extract(epoch FROM end_day)::bigint * 1000), 12, '0') || repeat('0', 20);
    suffix TEXT := to_char(first_day, '_YYYYMMDD');
    parent TEXT;
    fill INTEGER;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('herald partitions'));
    FOR parent, fill IN
        -- A delivery is written again when it settles. With room on its page that writes no index.
        VALUES ('business_event', 100), ('delivery', 50), ('delivery_attempt', 100)
    LOOP
        EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL) WITH (fillfactor = %s)', parent || suffix, parent, fill);
        EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', parent, parent || suffix, low, high);
    END LOOP;
    RETURN true;
EXCEPTION
    -- A partition of the same name, or one that would overlap.
    WHEN duplicate_table OR invalid_object_definition THEN RETURN false;
END
$$;

-- Drops the partitions that begin with a day. False where there are none. Everybody else waits meanwhile: it locks the whole history.
CREATE FUNCTION "drop_partitions"(first_day DATE) RETURNS BOOLEAN LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    suffix TEXT := to_char(first_day, '_YYYYMMDD');
    parent TEXT;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('herald partitions'));
    IF to_regclass('public.delivery' || suffix) IS NULL THEN
        RETURN false;
    END IF;
    -- The parents before their partitions, as every other statement locks them.
    LOCK TABLE ONLY public.business_event, ONLY public.delivery, ONLY public.delivery_attempt IN ACCESS EXCLUSIVE MODE;
    FOREACH parent IN ARRAY ARRAY['business_event', 'delivery', 'delivery_attempt'] LOOP
        EXECUTE format('DROP TABLE public.%I', parent || suffix);
    END LOOP;
    RETURN true;
END
$$;

-- PostgreSQL lets everybody call a new function.
REVOKE EXECUTE ON FUNCTION "make_partitions"(DATE, DATE), "drop_partitions"(DATE) FROM PUBLIC;
