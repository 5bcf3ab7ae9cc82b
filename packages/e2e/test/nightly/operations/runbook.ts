import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";

/** Commands of a page of the runbook. */
interface Step {
  /** What a page that has several causes says this is for; empty where it is for all of them. */
  causes: string[];
  commands: string;
}

/**
 * What the page that an alert links to says to run, in its order: blocks of ```sh that name no cause, and those that name
 * this one (```sh cause=broker-away).
 *
 * @param link the alert's `runbook_url`
 * @throws where there is no such page, or nothing on it is for this cause
 */
export function stepsOf(link: string, cause: string): string[] {
  const [file = "", anchor = ""] = link.split("#");
  const pages = readFileSync(join(projectFolder(), file), "utf8").split(/^## /m).slice(1);
  const page = pages.find((text) => anchorOf(text.slice(0, text.indexOf("\n"))) === anchor);
  if (page === undefined) throw new Error(`${file} has no page #${anchor}.`);
  const steps = [...page.matchAll(/^( *)```sh([^\n]*)\n([\s\S]*?)^ *```$/gm)].map(
    ([, , info = "", commands = ""]): Step => ({
      causes: [...info.matchAll(/\bcause=([\w,-]+)/g)].flatMap(([, names = ""]) => names.split(",")),
      commands,
    }),
  );
  if (!steps.some(({ causes }) => causes.includes(cause))) {
    throw new Error(`Nothing on ${link} is for ${cause}: a block that mends it says \`\`\`sh cause=${cause}.`);
  }
  return steps.filter(({ causes }) => causes.length === 0 || causes.includes(cause)).map(({ commands }) => commands);
}

/** As Markdown renderers make it of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");
}
