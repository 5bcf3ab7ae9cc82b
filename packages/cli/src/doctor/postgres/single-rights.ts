/** A right on one table, on one column of it, or on one function. */
export interface Right {
  privilege: string;
  /** A table's name, or a function's signature. */
  object: string;
  isFunction: boolean;
  /** Null for the whole table. */
  column: string | null;
}

/** The single rights of grants, each once. */
export function rightsOf(grants: readonly string[]): Right[] {
  const rights = grants.flatMap((grant) => {
    const [privileges = "", objects = ""] = grant.split(/ on (?:function )?/);
    const isFunction = grant.includes(" on function ");
    const names = objects.match(isFunction ? /\w+\([^)]*\)/g : /\w+/g) ?? [];
    return [...privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].flatMap(([, privilege = "", columns]) =>
      names.flatMap((object) =>
        (columns?.split(", ") ?? [null]).map((column) => ({ privilege, object, isFunction, column })),
      ),
    );
  });
  return [...new Map(rights.map((right) => [nameOf(right), right])).values()];
}

/** As a person would grant it: "update (publish_at) on notice". */
export function nameOf({ privilege, object, isFunction, column }: Right): string {
  const columns = column === null ? "" : ` (${column})`;
  return `${privilege}${columns} on ${isFunction ? "function " : ""}${object}`;
}
