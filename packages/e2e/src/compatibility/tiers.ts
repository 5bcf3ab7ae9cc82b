/** Tests that run in a cell. */
export interface Tier {
  /** As `--tier` takes it. */
  name: string;
  /** For the table and its reader. */
  title: string;
  /** Paths of test files, as jest takes them; none is every file of the service tier. */
  files: readonly string[];
}

/** The test that holds the servers of a cell to what the cell asks for, and writes down what they say that they are. */
const SERVERS = "packages/e2e/test/compatibility/servers";
const journey = (name: string) => `packages/e2e/test/journeys/${name}.test`;

/** The smaller one first: where both have passed, the table shows the last. */
export const TIERS: readonly Tier[] = [
  {
    name: "main-job",
    title: "main job",
    files: [
      SERVERS,
      ...["event-to-receiver", "exhausted", "crash", "manual-delivery", "gaps", "two-of-everything"].map(journey),
    ],
  },
  { name: "service", title: "service tier", files: [] },
];
