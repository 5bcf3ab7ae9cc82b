import { join } from "node:path";
import { type Coverage, coverageOf } from "./coverage.ts";
import { coverageDocument } from "./document.ts";
import { awaited, specSections, untested } from "./rules.ts";
import { allTitles } from "./titles.ts";

export { awaited } from "./rules.ts";

/** Reads the titles of all tests of a checkout: which rules of SPEC they show, and the page that says so. */
export function specCoverage(root: string): { coverage: Coverage; document: string; file: string } {
  const coverage = coverageOf(specSections, awaited, allTitles(root));
  const document = coverageDocument({ sections: specSections, untested, awaited, coverage });
  return { coverage, document, file: join(root, "docs", "spec-coverage.md") };
}
