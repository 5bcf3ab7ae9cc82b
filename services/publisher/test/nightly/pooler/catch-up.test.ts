// The tests of catch-up.test.ts once more, through a pooler of transactions that keeps no prepared statements.
process.env.POSTGRES_POOLER = "pgbouncer";
await import("../../catch-up.test.ts");
