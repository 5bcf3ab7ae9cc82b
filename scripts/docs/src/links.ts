import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const NOT_OURS = new Set(["node_modules", "dist", ".git", ".local"]);

/** Every Markdown document of a checkout, from its root on. */
export function markdownFiles(root: string, folder = "."): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : markdownFiles(root, path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** Links and images, as `[text](target)`, `src="target"` and `srcset="target"`. Links to other hosts are not looked at. */
const LINK = /\]\((?!\w+:)<?([^)\s>]+)>?[^)]*\)|\bsrc(?:set)?="(?!\w+:)([^"]+)"/g;
/** A path of this repository in the text, such as `docs/adr`. A command makes what is in `deploy/secrets`. */
const PATH = /`(?!deploy\/secrets)((?:packages|services|docs|deploy|prisma|\.github|\.ci)\/[\w./-]+)`/g;
/** Blocks of code hold no links. */
const CODE_BLOCK = /^( *)```[\s\S]*?^\1```/gm;

/** A document's links to what does not exist: files, headings of documents, and paths of the repository. */
export function brokenLinks(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), "utf8").replace(CODE_BLOCK, "");
  const links = [...text.matchAll(LINK)].map(([, link, image]) => link ?? image ?? "");
  const paths = [...text.matchAll(PATH)].map(([, path = ""]) => path);
  return [
    ...links.filter((link) => !isThere(root, file, link)),
    ...paths.filter((path) => !existsSync(join(root, path))),
  ].map((target) => `${file} points to ${target}`);
}

function isThere(root: string, file: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(root, file) : join(root, dirname(file), decodeURIComponent(path));
  if (relative(root, target).startsWith("..") || !existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readFileSync(target, "utf8")).has(anchor);
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replace(CODE_BLOCK, "").matchAll(/^#+ (.*)$/gm)) {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- _]/gu, "")
      .replaceAll(" ", "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}
