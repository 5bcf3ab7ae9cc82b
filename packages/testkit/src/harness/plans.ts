import type { Queries } from "@herald/common/database/queries";
import { expect } from "@jest/globals";

/** What a plan reads: tables from start to end, and indexes. Sorted, each once. */
export interface Walks {
  wholeTables: string[];
  indexes: string[];
}

const OF_GROWING_TABLES = /^(delivery|business_event|due)/;

/**
 * Expects that the statements of a call, however PostgreSQL plans them, read no whole table of those that grow, and read
 * them by these indexes only.
 *
 * @param indexes what the plans may choose from
 */
export async function expectWalks(
  queries: Queries,
  indexes: string[],
  call: (queries: Queries) => Promise<unknown>,
): Promise<void> {
  const { custom, generic } = await plansOf(queries, call);
  for (const plan of [custom, generic]) {
    expect(plan.wholeTables.filter((name) => OF_GROWING_TABLES.test(name))).toEqual([]);
    expect(indexes).toEqual(expect.arrayContaining(plan.indexes.filter((name) => OF_GROWING_TABLES.test(name))));
  }
}

/**
 * How PostgreSQL would run the statements of a call, planned for their own values, and planned for any, as a prepared
 * statement may be after five runs. Runs none of them: the call gets what EXPLAIN says for rows, so its result means nothing.
 */
export async function plansOf(
  queries: Queries,
  call: (queries: Queries) => Promise<unknown>,
): Promise<{ custom: Walks; generic: Walks }> {
  return {
    custom: await explain(queries, "explain (format json) ", call),
    generic: await explain(queries, "explain (format json, generic_plan) ", call),
  };
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  Plans?: PlanNode[];
}

async function explain(queries: Queries, prefix: string, call: (queries: Queries) => Promise<unknown>): Promise<Walks> {
  const plans: PlanNode[] = [];
  async function run(strings: TemplateStringsArray, values: unknown[]) {
    const [first = "", ...rest] = strings;
    const explained = Object.assign([prefix + first, ...rest], { raw: [prefix + first, ...rest] });
    const rows = await queries.$queryRaw<{ "QUERY PLAN": { Plan: PlanNode }[] }[]>(explained, ...values);
    for (const row of rows) plans.push(...row["QUERY PLAN"].map(({ Plan }) => Plan));
    return rows;
  }
  await call({
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => (await run(strings, values)) as T,
    $executeRaw: async (strings, ...values) => (await run(strings, values)).length,
  });
  if (plans.length === 0) throw new Error("The call ran no statement, so there is no plan of it.");
  const nodes = plans.flatMap(withInner);
  const sorted = (names: (string | undefined)[]) => [...new Set(names.filter((name) => name !== undefined))].sort();
  return {
    wholeTables: sorted(nodes.filter((node) => node["Node Type"] === "Seq Scan").map((node) => node["Relation Name"])),
    indexes: sorted(nodes.map((node) => node["Index Name"])),
  };
}

function withInner(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(withInner)];
}
