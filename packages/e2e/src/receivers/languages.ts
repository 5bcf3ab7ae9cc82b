import { join } from "node:path";
import type { LanguageProgram } from "@herald/dev/stack/test-programs";
import { writeAskingProgram } from "./csharp-server.ts";
import { output } from "./output.ts";
import type { Startable } from "./start-program.ts";
import { type Tried, tryReceiver } from "./tried.ts";
import { withCopy } from "./with-copy.ts";

/** Finds what compiles and runs the examples, or installs it. */
export interface Programs {
  language(name: LanguageProgram): Promise<string>;
  go(): Promise<string>;
  mono(): Promise<{ compiler: string; runtime: string }>;
}

/** A language that the project has a receiver in. */
export interface Language {
  /** As documents call it. */
  name: string;
  /** The folder in examples/. */
  folder: string;
  /** Compiles a copy of the folder, where that is needed. */
  build: (folder: string, programs: Programs) => Promise<Startable & { version: string }>;
}

/** Tries a receiver of the examples. @throws where it does something wrong */
export function tryLanguage({ name, folder, build }: Language, programs: Programs): Promise<Tried> {
  return withCopy(folder, async (copy) => {
    const built = await build(copy, programs);
    await tryReceiver(name, built, copy);
    return { name, version: built.version };
  });
}

export const LANGUAGES: readonly Language[] = [
  {
    name: "Node.js",
    folder: "verify-node",
    build: async () => ({
      command: () => [process.execPath, "receiver.mjs"],
      version: `Node.js ${process.versions.node}`,
    }),
  },
  {
    name: "Python",
    folder: "verify-python",
    build: async (copy, programs) => {
      const python = await programs.language("python3");
      return { command: () => [python, "-B", "receiver.py"], version: await output(python, ["--version"], copy) };
    },
  },
  {
    name: "Go",
    folder: "verify-go",
    build: async (copy, programs) => {
      const go = await programs.go();
      await output(go, ["build", "-o", "receiver", "."], copy);
      return { command: () => [join(copy, "receiver")], version: await goVersion(go, copy) };
    },
  },
  {
    name: "C#",
    folder: "verify-csharp",
    // Mono's compiler knows the C# of .NET Framework, so what it takes, every later one takes.
    build: async (copy, programs) => {
      const { compiler, runtime } = await programs.mono();
      writeAskingProgram(copy);
      const options = ["-nologo", "-warnaserror", "-r:System.Core.dll", "-out:verify.exe"];
      await output(compiler, [...options, "Webhook.cs", "Ask.cs"], copy);
      const [, version = ""] = /version (\S+)/.exec(await output(runtime, ["--version"], copy)) ?? [];
      return { command: () => [runtime, "verify.exe"], version: `Mono ${version}`, verifiesOnly: true };
    },
  },
  {
    name: "Java",
    folder: "verify-java",
    build: async (copy, programs) => {
      const compiler = await programs.language("javac");
      await output(compiler, ["-Xlint:all", "-Werror", "Receiver.java"], copy);
      return { command: () => ["java", "-cp", copy, "Receiver"], version: await javaVersion(compiler, copy) };
    },
  },
  {
    name: "PHP",
    folder: "verify-php",
    build: async (copy, programs) => {
      const php = await programs.language("php");
      const version = await output(php, ["-r", "echo PHP_VERSION;"], copy);
      return { command: (port) => [php, "-S", `127.0.0.1:${port}`, "receiver.php"], version: `PHP ${version}` };
    },
  },
  {
    name: "Ruby",
    folder: "verify-ruby",
    build: async (copy, programs) => {
      const ruby = await programs.language("ruby");
      const version = await output(ruby, ["-e", "print RUBY_VERSION"], copy);
      return { command: () => [ruby, "-w", "receiver.rb"], version: `Ruby ${version}` };
    },
  },
  {
    name: "Rust",
    folder: "verify-rust",
    build: async (copy, programs) => {
      const cargo = await programs.language("cargo");
      await output(cargo, ["build", "--quiet"], copy);
      return { command: () => [join(copy, "target", "debug", "receiver")], version: await rustVersion(cargo, copy) };
    },
  },
];

export async function goVersion(go: string, cwd: string): Promise<string> {
  return (await output(go, ["env", "GOVERSION"], cwd)).replace("go", "Go ");
}

export async function javaVersion(compiler: string, cwd: string): Promise<string> {
  return (await output(compiler, ["-version"], cwd)).replace("javac", "Java");
}

export async function rustVersion(cargo: string, cwd: string): Promise<string> {
  const [, version = ""] = /cargo (\S+)/.exec(await output(cargo, ["--version"], cwd)) ?? [];
  return `Rust ${version}`;
}
