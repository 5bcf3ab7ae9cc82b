import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pnpm } from "./pnpm.ts";
import { IN_PAGE, PAGE, SHIPPED } from "./shipped.ts";

/** A CycloneDX document, as far as it is read here. */
export interface BillOfMaterials {
  bomFormat: string;
  specVersion: string;
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

export interface Component {
  "bom-ref": string;
  /** The scope of a scoped package. */
  group?: string;
  name: string;
  version: string;
  purl: string;
  licenses?: ({ license: { id?: string; name?: string } } | { expression: string })[];
}

/**
 * Everything that Herald needs at run time, the page's parts included, as CycloneDX 1.6.
 *
 * @throws where pnpm can't make it: it reads the installed packages, so they have to be there
 */
export async function billOfMaterials(): Promise<BillOfMaterials> {
  const services = await listed([...SHIPPED.flatMap((name) => ["--filter", name]), "sbom", "--prod"]);
  const page = partOf(await listed(["--filter", PAGE, "sbom"]), IN_PAGE);
  return {
    ...services,
    components: unique([...services.components, ...page.components], (component) => component["bom-ref"]),
    dependencies: unique([...services.dependencies, ...page.dependencies], ({ ref }) => ref),
  };
}

async function listed(args: readonly string[]): Promise<BillOfMaterials> {
  const folder = await mkdtemp(join(tmpdir(), "herald-supply-"));
  try {
    const file = join(folder, "sbom.json");
    const format = ["--sbom-format", "cyclonedx", "--sbom-spec-version", "1.6", "--sbom-type", "application"];
    const { code, stdout, stderr } = await pnpm([...args, ...format, "--out", file]);
    if (code !== 0) throw new Error(`pnpm can't list the dependencies:\n${stderr || stdout}`);
    return JSON.parse(await readFile(file, "utf8")) as BillOfMaterials;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** These packages, and all that they lead to. */
function partOf(bill: BillOfMaterials, names: readonly string[]): BillOfMaterials {
  const edges = new Map(bill.dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  const reached = new Set<string>();
  const reach = (ref: string): void => {
    if (reached.has(ref)) return;
    reached.add(ref);
    for (const next of edges.get(ref) ?? []) reach(next);
  };
  for (const component of bill.components) if (names.includes(nameOf(component))) reach(component["bom-ref"]);
  return {
    ...bill,
    components: bill.components.filter((component) => reached.has(component["bom-ref"])),
    dependencies: bill.dependencies.filter(({ ref }) => reached.has(ref)),
  };
}

function unique<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

export function nameOf({ group, name }: Component): string {
  return group ? `${group}/${name}` : name;
}
