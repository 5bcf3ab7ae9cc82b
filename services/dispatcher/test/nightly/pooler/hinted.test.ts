// The tests of hinted.test.ts once more, through a pooler of transactions that keeps no prepared statements.
process.env.POSTGRES_POOLER = "pgbouncer";
await import("../../hinted.test.ts");
