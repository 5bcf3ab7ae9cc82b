-- CreateEnum
CREATE TYPE "disabled_reason" AS ENUM ('paused', 'failures');

-- CreateEnum
CREATE TYPE "delivery_state" AS ENUM ('pending', 'parked', 'succeeded', 'exhausted');

-- CreateTable
CREATE TABLE "webhook_endpoint" (
    "id" UUID NOT NULL DEFAULT uuidv7(),
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "events" TEXT[],
    "sealed_secret" TEXT NOT NULL,
    "revision" BIGINT NOT NULL DEFAULT 1,
    "consecutive_failures" INTEGER NOT NULL DEFAULT 0,
    "failure_run" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "disabled_reason" "disabled_reason",
    "disabled_at" TIMESTAMPTZ(3),
    "catch_up_at" TIMESTAMPTZ(3) NOT NULL,
    "catch_up_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_endpoint_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "business_event" (
    "organization_id" TEXT NOT NULL,
    "id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "body" TEXT NOT NULL,
    "traceparent" TEXT,

    CONSTRAINT "business_event_pkey" PRIMARY KEY ("organization_id","id")
);

-- CreateTable
CREATE TABLE "delivery" (
    "id" UUID NOT NULL DEFAULT uuidv7(),
    "endpoint_id" UUID NOT NULL,
    "organization_id" TEXT NOT NULL,
    "business_event_id" UUID,
    "event_type" TEXT NOT NULL,
    "body" TEXT,
    "state" "delivery_state" NOT NULL DEFAULT 'pending',
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "in_flight" BOOLEAN NOT NULL DEFAULT false,
    "status_code" INTEGER,
    "error_summary" TEXT,
    "failure_kind" TEXT,
    "attempted_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "delivery_pkey" PRIMARY KEY ("id")
);

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
);

-- CreateIndex
CREATE INDEX "webhook_endpoint_organization_id_id_idx" ON "webhook_endpoint"("organization_id", "id");

-- CreateIndex
CREATE INDEX "business_event_organization_id_occurred_at_id_idx" ON "business_event"("organization_id", "occurred_at", "id");

-- CreateIndex
CREATE INDEX "delivery_organization_id_id_idx" ON "delivery"("organization_id", "id");

-- CreateIndex
CREATE INDEX "delivery_endpoint_id_id_idx" ON "delivery"("endpoint_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "delivery_endpoint_id_business_event_id_key" ON "delivery"("endpoint_id", "business_event_id");

-- AddForeignKey
ALTER TABLE "delivery" ADD CONSTRAINT "delivery_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoint"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "delivery_attempt" ADD CONSTRAINT "delivery_attempt_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "delivery"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Below: what Prisma's schema language cannot say. The indexes are partial, so that what a hot query costs follows the
-- work that is left and never the history.

-- Endpoints whose catch-up has come: the publisher's poll reads nothing else.
CREATE INDEX "webhook_endpoint_catch_up" ON "webhook_endpoint"("catch_up_at") WHERE "enabled";

-- Whether anything at all is due, and since when.
CREATE INDEX "delivery_due" ON "delivery"("next_attempt_at") WHERE "state" = 'pending';

-- What an endpoint has to send next; and, walked from endpoint to endpoint, which endpoints have something to send.
CREATE INDEX "delivery_pending" ON "delivery"("endpoint_id", "next_attempt_at") WHERE "state" = 'pending';

-- What a resume wakes.
CREATE INDEX "delivery_parked" ON "delivery"("endpoint_id", "id") WHERE "state" = 'parked';
