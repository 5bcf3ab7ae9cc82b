import type { Queries } from "@herald/common/database/queries";

/** What happens around a statement, by its values. What it throws, the statement's caller gets. */
interface Steps {
  before?: (values: readonly unknown[]) => unknown;
  after?: (values: readonly unknown[]) => unknown;
}

/** The same queries, with something that happens before each statement whose text has this in it, or after it. */
export function queriesAround(queries: Queries, part: string, { before, after }: Steps): Queries {
  return {
    $executeRaw: (...call) => queries.$executeRaw(...call),
    async $queryRaw<T>(strings: TemplateStringsArray, ...values: unknown[]) {
      const isMeant = strings.join("").includes(part);
      if (isMeant) await before?.(values);
      const rows = await queries.$queryRaw<T>(strings, ...values);
      if (isMeant) await after?.(values);
      return rows;
    },
  };
}
