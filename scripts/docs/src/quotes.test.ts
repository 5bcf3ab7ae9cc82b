import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { markdownFiles } from "./links.ts";

/** Words of PostgreSQL and of its client, which no program of Herald's has. */
const OF_POSTGRES = [
  "No space left on device",
  "Query read timeout",
  "cached plan must not change result type",
  "canceling statement due to statement timeout",
  "permission denied",
  "read-only transaction",
];

const root = projectFolder();
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** The program texts of Herald, and the dashboard. Without debug lines: no operator's log has them. */
function sources(): string {
  const folders = ["packages", "services"].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => join(parent, name, "src")),
  );
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
      .map((file) => join(folder, file)),
  );
  const text = [...files, "deploy/helm/herald/files/dashboard.json"].map(read).join("\n");
  const logged = text.replace(/\blog\.debug\([^;]*;/g, "");
  return ["PostgreSQL", "RabbitMQ"].map((server) => logged.replaceAll(`\${server}`, server)).join("\n");
}

/** What a page has in double quotes, but in its commands only what they search a log for. */
function quotesOf(page: string): string[] {
  const prose = page.replace(/^ *```[\s\S]*?^ *```$/gm, "").replace(/`[^`\n]*`/g, "");
  const searches = page.match(/^docker .*\| grep .*$/gm) ?? [];
  return [prose, ...searches].flatMap((text) => [...text.matchAll(/"([^"]+)"/g)].map(([, quote = ""]) => quote));
}

test("each line of a log and each word of the page that the pages for operators quote is written by a program", () => {
  const text = sources();
  const pages = [...markdownFiles(root, "docs/operating"), "docs/reliability.md"];
  const quotes = new Set(pages.flatMap((page) => quotesOf(read(page))));
  expect(quotes.size).toBeGreaterThan(OF_POSTGRES.length);
  // A line is quoted from its beginning, or from a semicolon on.
  const isWritten = (quote: string) => ['"', "`", ">", "; "].some((mark) => text.includes(mark + quote));
  expect([...quotes].filter((quote) => !isWritten(quote)).sort()).toEqual(OF_POSTGRES);
});
