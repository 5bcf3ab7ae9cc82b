import { type Component, nameOf } from "./bill-of-materials.ts";

/**
 * Licences of which a person has read that Herald may be sold with them: they ask for a notice, and for nothing of Herald's
 * own. Another one is a decision, and its place is here.
 */
export const ALLOWED_LICENSES: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Unlicense",
]);

export interface LicenseReport {
  /** By licence, the most frequent first: the packages under it. */
  packages: [license: string, names: string[]][];
  /** Packages under a licence that isn't allowed, or that name none. */
  refused: { name: string; version: string; license: string }[];
}

/** Looks through components for licences that aren't allowed. Herald's own packages need none. */
export function licenseReport(components: readonly Component[], allowed = ALLOWED_LICENSES): LicenseReport {
  const packages = new Map<string, string[]>();
  const refused: LicenseReport["refused"] = [];
  for (const component of components.filter((each) => !nameOf(each).startsWith("@herald/"))) {
    const license = licenseOf(component);
    packages.set(license, [...(packages.get(license) ?? []), nameOf(component)]);
    if (!isAllowed(license, allowed)) refused.push({ name: nameOf(component), version: component.version, license });
  }
  return { packages: [...packages].sort(([, a], [, b]) => b.length - a.length), refused };
}

function licenseOf({ licenses = [] }: Component): string {
  const names = licenses.map((each) =>
    "expression" in each ? each.expression : (each.license.id ?? each.license.name ?? "none"),
  );
  return names.join(" AND ") || "none";
}

/**
 * Whether an SPDX expression leaves a choice that is allowed. What isn't made of `A`, `A OR B` and `A AND B`, each in
 * parentheses or not, counts as unknown: nothing Herald depends on is.
 */
export function isAllowed(expression: string, allowed = ALLOWED_LICENSES): boolean {
  const plain = expression.trim().replace(/^\(([^()]*)\)$/, "$1");
  if (/[()]/.test(plain)) return false;
  return plain.split(" OR ").some((choice) => choice.split(" AND ").every((name) => allowed.has(name.trim())));
}
