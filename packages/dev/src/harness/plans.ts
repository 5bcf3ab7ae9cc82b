import type { Queries } from "@herald/common/database/queries";
import { expect } from "@jest/globals";

/**
 * The tables that a plan reads from start to end, and its indexes. Sorted, each once. A partition and its indexes have the names of
 * the table that they are part of.
 */
export interface Walks {
  wholeTables: string[];
  indexes: string[];
}

type Call = (queries: Queries) => Promise<unknown>;

const OF_GROWING_TABLES = /^(delivery|business_event|undelivered_event|due|endpoint_hour)/;

/** Expects that the statements of a call, however PostgreSQL plans them, read no whole table of those that grow, and read them by these indexes only. */
export async function expectWalks(queries: Queries, indexes: string[], call: Call): Promise<void> {
  const { custom, generic } = await plansOf(queries, call);
  for (const plan of [custom, generic]) {
    expect(plan.wholeTables.filter((name) => OF_GROWING_TABLES.test(name))).toEqual([]);
    expect(indexes).toEqual(expect.arrayContaining(plan.indexes.filter((name) => OF_GROWING_TABLES.test(name))));
  }
}

/**
 * How PostgreSQL would run the statements of a call, planned for their own values, and planned for any, as a prepared
 * statement may be after five runs. Runs none of them: the call gets what EXPLAIN says for rows, so its result means nothing.
 * PostgreSQL 15 can't say how it would plan for any values, so there the two are the same.
 */
export async function plansOf(queries: Queries, call: Call): Promise<{ custom: Walks; generic: Walks }> {
  const custom = walksOf(await explain(queries, CUSTOM, call));
  return { custom, generic: (await saysGeneric(queries)) ? walksOf(await explain(queries, GENERIC, call)) : custom };
}

const CUSTOM = "format json";
const GENERIC = "format json, generic_plan";

async function saysGeneric(queries: Queries): Promise<boolean> {
  const [server] = await queries.$queryRaw<{ version: number }[]>`
    select current_setting('server_version_num')::int as version`;
  return (server?.version ?? 0) >= 160_000;
}

/** The tables and partitions that the statements of a call read, by their own names. Runs them, as EXPLAIN does. */
export async function tablesRead(queries: Queries, call: Call): Promise<string[]> {
  const nodes = await explain(queries, "format json, analyze", call);
  return sorted(nodes.filter((node) => node["Actual Loops"] !== 0).map((node) => node["Relation Name"]));
}

/** How many pages of tables and indexes the statements of a call look at, from disk or from memory. Runs them, as EXPLAIN does. */
export async function pagesRead(queries: Queries, call: Call): Promise<number> {
  const plans = await explainEach(queries, "format json, analyze, buffers", call);
  const pages = plans.flatMap((plan) => [plan["Shared Hit Blocks"] ?? 0, plan["Shared Read Blocks"] ?? 0]);
  return pages.reduce((sum, each) => sum + each, 0);
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Loops"?: number;
  /** Blocks that this node and its inner nodes found in memory. */
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  Plans?: PlanNode[];
}

async function explain(queries: Queries, options: string, call: Call): Promise<PlanNode[]> {
  return (await explainEach(queries, options, call)).flatMap(withInner);
}

/** The plans of a call's statements, each as its outermost node. */
async function explainEach(queries: Queries, options: string, call: Call): Promise<PlanNode[]> {
  const plans: PlanNode[] = [];
  async function run([first = "", ...rest]: TemplateStringsArray, values: unknown[]) {
    const strings = [`explain (${options}) ${first}`, ...rest];
    const explained = Object.assign(strings, { raw: strings });
    const rows = await queries.$queryRaw<{ "QUERY PLAN": { Plan: PlanNode }[] }[]>(explained, ...values);
    for (const row of rows) plans.push(...row["QUERY PLAN"].map(({ Plan }) => Plan));
    return rows;
  }
  await call({
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => (await run(strings, values)) as T,
    $executeRaw: async (strings, ...values) => (await run(strings, values)).length,
  });
  if (plans.length === 0) throw new Error("The call ran no statement, so there is no plan of it.");
  return plans;
}

function walksOf(nodes: PlanNode[]): Walks {
  return {
    wholeTables: sorted(
      nodes.filter((node) => node["Node Type"] === "Seq Scan").map((node) => ofWholeTable(node["Relation Name"])),
    ),
    indexes: sorted(nodes.map((node) => ofWholeTable(node["Index Name"]))),
  };
}

function sorted(names: (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

const PARTITION = /^(business_event|delivery_attempt|delivery)_\d{8}/;

/** The name without its partition: delivery_pkey of delivery_20261121_pkey. */
function ofWholeTable(name: string | undefined): string | undefined {
  return name?.replace(PARTITION, "$1");
}

function withInner(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(withInner)];
}
