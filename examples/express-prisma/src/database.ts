import { outboxTable } from "@herald/emitter/outbox";
import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import { PrismaClient } from "./generated/client.ts";

// In place of migrations, so that the example needs nothing but an empty database.
const TABLES = [
  "create table if not exists work_item (id uuid primary key, title text not null, status text not null default 'InProgress')",
  `create table if not exists invoice (
    event_id uuid primary key,
    work_item_id uuid not null,
    written_at timestamptz(3) not null default now()
  )`,
  outboxTable(),
];

/** The app's own database: Prisma for the app, a pool for the relay and for billing. */
export interface Database {
  prisma: PrismaClient;
  pool: pg.Pool;
  close(): Promise<void>;
}

export async function openDatabase(url: string): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url });
  // An idle connection that breaks. The pool opens another one.
  pool.on("error", (error) => console.warn(error.message));
  for (const statement of TABLES) await pool.query(statement);
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  return {
    prisma,
    pool,
    close: async () => {
      await prisma.$disconnect();
      await pool.end();
    },
  };
}
