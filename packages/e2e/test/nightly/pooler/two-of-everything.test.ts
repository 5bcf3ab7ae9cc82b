// The tests of two-of-everything.test.ts once more, through a pooler of transactions that keeps no prepared statements.
process.env.POSTGRES_POOLER = "pgbouncer";
await import("../../journeys/two-of-everything.test.ts");
