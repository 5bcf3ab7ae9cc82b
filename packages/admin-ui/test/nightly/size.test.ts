import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";

const BUDGET_BYTES = 190_000;

test("the first load takes at most 190 kB, gzipped, with all that a browser fetches for it", async () => {
  const dist = new URL("../../dist/", import.meta.url);
  const html = await readFile(new URL("index.html", dist), "utf8");
  const linked = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
  expect(linked.map((path) => path.replace(/.*\./, ""))).toEqual(expect.arrayContaining(["js", "css", "svg"]));
  const files = ["index.html", ...linked];
  for (const path of linked.filter((each) => each.endsWith(".css"))) {
    const css = await readFile(new URL(path, dist), "utf8");
    files.push(...[...css.matchAll(/url\(\.?\/?([^)]+)\)/g)].map(([, name]) => `assets/${name}`));
  }
  const sizes = await Promise.all(files.map(async (path) => gzipSync(await readFile(new URL(path, dist))).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(BUDGET_BYTES);
  expect(html).not.toMatch(/<style|<script(?![^>]* src=)| style=/);
});
