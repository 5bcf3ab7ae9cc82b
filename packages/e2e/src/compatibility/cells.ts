/** What Herald is tried on together. */
export interface Cell {
  /** Major versions of Node and PostgreSQL. */
  node: string;
  postgres: string;
  /** As RABBITMQ_VERSION names it. */
  rabbitmq: string;
  /** Whether a PgBouncer of transactions stands before PostgreSQL. */
  pooler: boolean;
}

/** Every version that Herald runs on, the oldest first. */
export const AXES = {
  node: ["20", "22", "24"],
  postgres: ["15", "16", "17", "18"],
  rabbitmq: ["3.10", "4"],
  pooler: [false, true],
} as const;

/** All cells, in the order of the axes. */
export function allCells(): Cell[] {
  return AXES.node.flatMap((node) =>
    AXES.postgres.flatMap((postgres) =>
      AXES.rabbitmq.flatMap((rabbitmq) => AXES.pooler.map((pooler) => ({ node, postgres, rabbitmq, pooler }))),
    ),
  );
}

/** The oldest and the newest of everything, in each combination. */
function corners(): Cell[] {
  const isExtreme = (axis: readonly string[], value: string) => value === axis[0] || value === axis.at(-1);
  return allCells().filter(({ node, postgres }) => isExtreme(AXES.node, node) && isExtreme(AXES.postgres, postgres));
}

/** From the oldest of everything to the newest of everything: each version is in one of its cells. */
function diagonal(): Cell[] {
  return [
    { node: "20", postgres: "15", rabbitmq: "3.10", pooler: false },
    { node: "22", postgres: "16", rabbitmq: "3.10", pooler: true },
    { node: "22", postgres: "17", rabbitmq: "4", pooler: false },
    { node: "24", postgres: "18", rabbitmq: "4", pooler: true },
  ];
}

/** Groups of cells, by the names that `--cells` takes. */
export const GROUPS = { corners, diagonal, all: allCells } as const satisfies Record<string, () => Cell[]>;

/** As `--only` takes it, and as files are named: "20/15/3.10/no". */
export function nameOf({ node, postgres, rabbitmq, pooler }: Cell): string {
  return [node, postgres, rabbitmq, pooler ? "yes" : "no"].join("/");
}

/**
 * The cells of some groups, each once.
 *
 * @param names parted by commas
 * @returns undefined where a group is not known
 */
export function cellsOf(names: string): Cell[] | undefined {
  const asked = names.split(",");
  if (!asked.every((name) => Object.hasOwn(GROUPS, name))) return undefined;
  const wanted = new Set(asked.flatMap((name) => GROUPS[name as keyof typeof GROUPS]()).map(nameOf));
  return allCells().filter((cell) => wanted.has(nameOf(cell)));
}

/** The cells whose name this is; "*" stands for each version. */
export function cellsLike(pattern: string): Cell[] {
  const parts = pattern.split("/");
  if (parts.length !== 4) return [];
  return allCells().filter((cell) =>
    nameOf(cell)
      .split("/")
      .every((part, index) => parts[index] === "*" || parts[index] === part),
  );
}
