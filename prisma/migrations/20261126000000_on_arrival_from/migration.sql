-- The previous version's dispatchers leave the column null: publishers of this version store such a shard's events before they hand them over.
ALTER TABLE "shard" ADD COLUMN "on_arrival_from" TIMESTAMPTZ(3);
