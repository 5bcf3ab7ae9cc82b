import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillOnce, localFolder, projectFolder } from "../stack/folders.ts";
import { findOrInstall } from "../stack/install-package.ts";
import { findProgram, runProgram } from "../stack/programs.ts";

/** A clock for a process: its environment, which makes the machine's clock wrong by wrong-clock.c. Needs Linux. */
export async function wrongClock(aheadMs: number) {
  const library = await builtLibrary();
  const folder = mkdtempSync(join(tmpdir(), "herald-clock-"));
  const file = join(folder, "ahead-ms");
  /** A process has the file in its memory, so it is written in place. */
  const set = (ms: number) =>
    writeFileSync(file, new BigInt64Array([BigInt(ms)]), { flag: existsSync(file) ? "r+" : "w" });
  set(aheadMs);
  return {
    settings: { LD_PRELOAD: library, CLOCK_AHEAD_FILE: file },
    set,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function builtLibrary(): Promise<string> {
  const source = join(projectFolder(), "packages", "dev", "src", "harness", "wrong-clock.c");
  const hash = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  const folder = join(localFolder(), "tools", `wrong-clock-${hash}`);
  const library = join(folder, "wrong-clock.so");
  const isBuilt = () => existsSync(library);
  if (isBuilt()) return library;
  const compiler = { title: "a C compiler", apt: "gcc libc6-dev" };
  const cc = await findOrInstall(compiler, "Tests of wrong clocks", () => findProgram("cc") ?? findProgram("gcc"));
  await fillOnce(folder, isBuilt, async (draft) => {
    const args = ["-shared", "-fPIC", "-O2", "-o", join(draft, "wrong-clock.so"), source, "-ldl"];
    await runProgram(cc, args, { what: "Compiling wrong-clock.c" });
  });
  return library;
}
