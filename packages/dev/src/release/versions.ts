const VERSION = /^(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?$/;
const UNRELEASED = "## Unreleased\n";

/** Whether a version may follow another one: it is a semantic version, and greater in its three numbers. */
export function mayFollow(version: string, current: string): boolean {
  const [next, last] = [VERSION.exec(version), VERSION.exec(current)];
  if (next === null || last === null) return false;
  for (const part of [1, 2, 3]) {
    const step = Number(next[part]) - Number(last[part]);
    if (step !== 0) return step > 0;
  }
  // A release follows its own candidates: 1.0.0 follows 1.0.0-rc.1.
  return next[4] === undefined && last[4] !== undefined;
}

/**
 * The text of a package.json or Chart.yaml with another version of the project's own, everything else as it was.
 *
 * @throws where it names no version
 */
export function withVersion(file: string, text: string, version: string): string {
  const pattern = file.endsWith(".yaml") ? /^((?:appV|v)ersion: ).*$/gm : /^( {2}"version": ")[^"]*/gm;
  if (text.match(pattern) === null) throw new Error(`${file} names no version.`);
  return text.replace(pattern, `$1${version}`);
}

/**
 * The changelog in which what was unreleased belongs to a version.
 *
 * @throws where nothing is unreleased
 */
export function withRelease(changelog: string, version: string, day: string): string {
  const [before, after] = changelog.split(UNRELEASED);
  const entries = after?.split("\n## ")[0]?.trim() ?? "";
  if (before === undefined || after === undefined || entries === "" || entries === "Nothing yet.") {
    throw new Error('CHANGELOG.md has nothing under "## Unreleased": say what users and operators will notice.');
  }
  return `${before}${UNRELEASED}\nNothing yet.\n\n## ${version} (${day})\n${after}`;
}
