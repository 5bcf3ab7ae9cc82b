import type { SpecSection } from "./rules.ts";
import type { SpecTitle } from "./titles.ts";

/** Which tests show which rule. */
export interface Coverage {
  /** By the id of a rule, or by the number of a section that a title names as a whole. */
  titles: ReadonlyMap<string, readonly SpecTitle[]>;
  /** What is wrong, each in a sentence that says what to do. Empty where every rule has its test. */
  faults: string[];
}

/** Holds titles of tests against the rules. */
export function coverageOf(
  sections: readonly SpecSection[],
  awaited: readonly string[],
  titles: readonly SpecTitle[],
): Coverage {
  const rules = sections.flatMap((section) => Object.keys(section.rules));
  const found = new Map<string, SpecTitle[]>();
  for (const name of [...rules, ...sections.flatMap(wholeSections)]) found.set(name, []);
  const faults: string[] = [];
  for (const title of titles) {
    for (const name of title.names) {
      const of = found.get(name);
      if (of) of.push(title);
      else faults.push(`${title.file}: "§${name} ${title.text}" names a rule that does not exist.`);
    }
  }
  for (const id of rules) {
    const isShown = found.get(id)?.length !== 0;
    const isAwaited = awaited.includes(id);
    if (!isShown && !isAwaited) faults.push(`Rule ${id} has no test: begin the title of one with "§${id} ".`);
    if (isShown && isAwaited) faults.push(`Rule ${id} has its test now: take it off the list of those awaited.`);
  }
  for (const id of awaited) if (!rules.includes(id)) faults.push(`Rule ${id} is awaited and does not exist.`);
  return { titles: found, faults };
}

/**
 * Numbers that a title may name without meaning one rule: the section's own, and those whose rules are told apart by words,
 * as 4.4.3 is by `4.4.3/compare`.
 */
export function wholeSections({ number, rules }: SpecSection): string[] {
  const ids = Object.keys(rules);
  const ofRules = ids.map((id) => id.split("/")[0] ?? id);
  return [...new Set([number, ...ofRules])].filter((section) => !ids.includes(section));
}
