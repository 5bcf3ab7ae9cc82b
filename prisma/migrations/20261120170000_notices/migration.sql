-- CreateEnum
CREATE TYPE "notice_type" AS ENUM ('endpoint.failing', 'endpoint.disabled');

-- CreateTable
CREATE TABLE "notice" (
    "id" UUID NOT NULL DEFAULT uuidv7(),
    "type" "notice_type" NOT NULL,
    "organization_id" TEXT NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "endpoint_name" TEXT NOT NULL,
    "endpoint_url" TEXT NOT NULL,
    "failure_run" TEXT[],
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "publish_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "notice_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "notice_publish_at_id_idx" ON "notice"("publish_at", "id");
