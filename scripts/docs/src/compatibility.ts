import { AXES, type Cell, nameOf } from "@herald/e2e/compatibility/cells";
import type { CellRun, CellRuns } from "@herald/e2e/compatibility/results";
import { TIERS } from "@herald/e2e/compatibility/tiers";
import { table } from "./blocks.ts";

/** The generated blocks of docs/operating/compatibility.md, by name. */
export function compatibilityBlocks({ runs }: CellRuns): Record<string, string> {
  const columns = AXES.rabbitmq.flatMap((rabbitmq) => AXES.pooler.map((pooler) => ({ rabbitmq, pooler })));
  const rows = AXES.node.flatMap((node) => AXES.postgres.map((postgres) => ({ node, postgres })));
  return {
    cells: table(
      [
        "Node",
        "PostgreSQL",
        ...columns.map(({ rabbitmq, pooler }) => `RabbitMQ ${rabbitmq}${pooler ? ", PgBouncer" : ""}`),
      ],
      rows.map(({ node, postgres }) => [
        node,
        postgres,
        ...columns.map((column) => wordFor({ node, postgres, ...column }, runs)),
      ]),
    ),
    tiers: table(
      ["tests", "what ran"],
      TIERS.map(({ title, files }) => [
        title,
        files.length === 0
          ? "every service test, and every journey through all of Herald"
          : files.map((file) => `\`${file.slice(file.lastIndexOf("/") + 1).replace(".test", "")}\``).join(", "),
      ]),
    ),
    runs: table(
      ["Node", "PostgreSQL", "RabbitMQ", "pooler", "tests", "passed", "failed", "commit", "date"],
      runs.map(({ versions, tier, tests, failed, commit, date, ...cell }) => [
        versions?.node ?? cell.node,
        versions?.postgres ?? cell.postgres,
        versions?.rabbitmq ?? cell.rabbitmq,
        versions?.pooler ?? (cell.pooler ? "PgBouncer" : "none"),
        titleOf(tier),
        tests.toLocaleString("en"),
        failed.length === 0 ? "0" : `**${failed.length}**: ${failed.join("; ")}`,
        `\`${commit}\``,
        date,
      ]),
    ),
  };
}

/** The largest tier that has passed; empty where none has run. A failure is shown whatever else has passed. */
function wordFor(cell: Cell, runs: readonly CellRun[]): string {
  const own = runs.filter((run) => nameOf(run) === nameOf(cell));
  const failed = own.filter(({ passed }) => !passed).map(({ tier }) => `**${titleOf(tier)} failed**`);
  if (failed.length > 0) return failed.join(", ");
  return TIERS.filter(({ name }) => own.some(({ tier }) => tier === name)).at(-1)?.title ?? "";
}

function titleOf(tier: string): string {
  return TIERS.find(({ name }) => name === tier)?.title ?? tier;
}
