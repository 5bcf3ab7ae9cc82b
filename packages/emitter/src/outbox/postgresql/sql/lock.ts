/**
 * Makes the caller's transaction the only one that sends from the table, or says that another one is. The lock is an advisory one and
 * ends with the transaction, however that ends. Nothing else waits for it. A transaction that holds it and has not written yet has no
 * number, so it keeps no dead row of any table from being vacuumed.
 *
 * $1: the table, as SQL writes it. Fails where there is none.
 */
export const LOCK =
  "select pg_try_advisory_xact_lock(hashtextextended('herald outbox ' || $1::regclass::oid, 0)) as locked";
