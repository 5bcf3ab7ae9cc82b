import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { projectFolder } from "@herald/devkit/stack";
import { audit } from "../audit.ts";
import { billOfMaterials } from "../bill-of-materials.ts";
import { licenseReport } from "../licenses.ts";

const HELP = `pnpm supply: what Herald ships that others wrote, under which licences, and what is known against it

  pnpm supply [--out sbom.json] [--no-audit]

  --out FILE   where the bill of materials goes (CycloneDX 1.6); .local/sbom.json unless said otherwise
  --no-audit   asks no registry for advisories

It fails where a licence isn't allowed, where there are advisories, and where nobody could be asked for them.
`;

const { values } = parseArgs({
  options: { out: { type: "string" }, help: { type: "boolean" }, audit: { type: "boolean", default: true } },
  allowNegative: true,
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit();
}

const bill = await billOfMaterials();
const file = values.out ?? join(projectFolder(), ".local", "sbom.json");
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, JSON.stringify(bill, null, 2));
process.stdout.write(`Bill of materials: ${bill.components.length} components, in ${file}\n\nLicences:\n`);

const { packages, refused } = licenseReport(bill.components);
for (const [license, names] of packages) process.stdout.write(`  ${String(names.length).padStart(4)}  ${license}\n`);
for (const { name, version, license } of refused) {
  process.stderr.write(
    `${name} ${version} is under "${license}", which packages/supply/src/licenses.ts doesn't allow.\n`,
  );
  process.exitCode = 1;
}

if (values.audit) {
  const result = await audit();
  if (result.kind === "clean") process.stdout.write("\nAdvisories: none is known.\n");
  else {
    const what =
      result.kind === "advisories" ? "Advisories:" : "Advisories could not be asked for, so nothing is known:";
    process.stderr.write(`\n${what}\n${result.kind === "advisories" ? result.text : `  ${result.reason}`}\n`);
    process.exitCode = 1;
  }
}
