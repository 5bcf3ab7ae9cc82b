import { expect, test } from "@jest/globals";
import { mayFollow, withRelease, withVersion } from "./versions.ts";

test.each([
  ["0.2.0", "0.1.9"],
  ["1.0.0", "0.9.9"],
  ["0.1.10", "0.1.9"],
  ["1.0.0", "1.0.0-rc.1"],
  ["1.0.0-rc.1", "0.9.0"],
])("version %s may follow %s", (version, current) => expect(mayFollow(version, current)).toBe(true));

test.each([
  ["0.1.0", "0.1.0"],
  ["0.1.9", "0.2.0"],
  ["1.0.0-rc.1", "1.0.0"],
  ["1.0", "0.1.0"],
  ["v1.0.0", "0.1.0"],
  ["", "0.1.0"],
])("version %j may not follow %s", (version, current) => expect(mayFollow(version, current)).toBe(false));

test("a manifest gets the version, and its dependencies keep theirs", () => {
  const manifest = '{\n  "version": "0.1.0",\n  "dependencies": {\n    "version": "0.1.0"\n  }\n}\n';
  expect(withVersion("package.json", manifest, "1.2.3")).toBe(
    '{\n  "version": "1.2.3",\n  "dependencies": {\n    "version": "0.1.0"\n  }\n}\n',
  );
});

test("a chart gets the version twice: its own, and the image's", () => {
  expect(withVersion("Chart.yaml", "apiVersion: v2\nversion: 0.1.0\nappVersion: 0.1.0\n", "1.2.3")).toBe(
    "apiVersion: v2\nversion: 1.2.3\nappVersion: 1.2.3\n",
  );
});

test("what was unreleased in the changelog belongs to the version", () => {
  expect(withRelease("# Changes\n\n## Unreleased\n\n- New.\n\n## 0.1.0\n", "0.2.0", "2026-03-01")).toBe(
    "# Changes\n\n## Unreleased\n\nNothing yet.\n\n## 0.2.0 (2026-03-01)\n\n- New.\n\n## 0.1.0\n",
  );
});

test.each(["# Changes\n", "## Unreleased\n\n## 0.1.0\n", "## Unreleased\n\nNothing yet.\n\n## 0.1.0\n\n- First.\n"])(
  "a changelog with nothing to release is refused: %j",
  (changelog) => expect(() => withRelease(changelog, "0.2.0", "2026-03-01")).toThrow("nothing under"),
);
