import { join } from "node:path";
import type { LanguageProgram } from "@herald/testkit/stack/test-programs";
import { runProgram } from "@herald/testkit/stack/programs";

/** Finds what compiles and runs the examples, or installs it. */
export interface Programs {
  language(name: LanguageProgram): Promise<string>;
  go(): Promise<string>;
  mono(): Promise<{ compiler: string; runtime: string }>;
}

/** A language that the project has a receiver in. */
export interface Language {
  /** As documents and the admin page call it. */
  name: string;
  /** The program, from the root on. Its folder has all that it needs. */
  file: string;
  /** How Markdown names the language of a block of code. */
  fence: string;
  /** Compiles a copy of the folder, where that is needed. */
  build: (folder: string, programs: Programs) => Promise<Built>;
}

export interface Built {
  /** What starts the receiver; it finds its port in PORT. */
  command: (port: number) => [program: string, ...args: string[]];
  /** What ran it, such as "Python 3.11.2". */
  version: string;
  /** It verifies, but does not listen: another server asks it. */
  verifiesOnly?: true;
}

/** A first compilation fills caches of hundreds of megabytes, or fetches packages. */
export const BUILD_TIMEOUT_MS = 600_000;

async function output(program: string, args: string[], cwd: string): Promise<string> {
  const what = `Running ${program} ${args.join(" ")}`;
  return (await runProgram(program, args, { what, cwd, timeoutMs: BUILD_TIMEOUT_MS })).trim();
}

export const LANGUAGES: readonly Language[] = [
  {
    name: "Node.js",
    file: "examples/verify-node/receiver.mjs",
    fence: "js",
    build: async () => ({
      command: () => [process.execPath, "receiver.mjs"],
      version: `Node.js ${process.versions.node}`,
    }),
  },
  {
    name: "Python",
    file: "examples/verify-python/receiver.py",
    fence: "python",
    build: async (folder, programs) => {
      const python = await programs.language("python3");
      return { command: () => [python, "-B", "receiver.py"], version: await output(python, ["--version"], folder) };
    },
  },
  {
    name: "Go",
    file: "examples/verify-go/main.go",
    fence: "go",
    build: async (folder, programs) => {
      const go = await programs.go();
      await output(go, ["build", "-o", "receiver", "."], folder);
      const version = await output(go, ["env", "GOVERSION"], folder);
      return { command: () => [join(folder, "receiver")], version: version.replace("go", "Go ") };
    },
  },
  {
    name: "C#",
    file: "examples/verify-csharp/Webhook.cs",
    fence: "csharp",
    // Mono's compiler knows the C# of .NET Framework, so what it takes, every later one takes.
    build: async (folder, programs) => {
      const { compiler, runtime } = await programs.mono();
      const options = ["-nologo", "-warnaserror", "-r:System.Core.dll", "-out:verify.exe"];
      await output(compiler, [...options, "Webhook.cs", "Ask.cs"], folder);
      const [, version = ""] = /version (\S+)/.exec(await output(runtime, ["--version"], folder)) ?? [];
      return { command: () => [runtime, "verify.exe"], version: `Mono ${version}`, verifiesOnly: true };
    },
  },
  {
    name: "Java",
    file: "examples/verify-java/Receiver.java",
    fence: "java",
    build: async (folder, programs) => {
      const compiler = await programs.language("javac");
      await output(compiler, ["-Xlint:all", "-Werror", "Receiver.java"], folder);
      const version = await output(compiler, ["-version"], folder);
      return { command: () => ["java", "-cp", folder, "Receiver"], version: version.replace("javac", "Java") };
    },
  },
  {
    name: "PHP",
    file: "examples/verify-php/receiver.php",
    fence: "php",
    build: async (folder, programs) => {
      const php = await programs.language("php");
      const version = await output(php, ["-r", "echo PHP_VERSION;"], folder);
      return { command: (port) => [php, "-S", `127.0.0.1:${port}`, "receiver.php"], version: `PHP ${version}` };
    },
  },
  {
    name: "Ruby",
    file: "examples/verify-ruby/receiver.rb",
    fence: "ruby",
    build: async (folder, programs) => {
      const ruby = await programs.language("ruby");
      const version = await output(ruby, ["-e", "print RUBY_VERSION"], folder);
      return { command: () => [ruby, "-w", "receiver.rb"], version: `Ruby ${version}` };
    },
  },
  {
    name: "Rust",
    file: "examples/verify-rust/src/main.rs",
    fence: "rust",
    build: async (folder, programs) => {
      const cargo = await programs.language("cargo");
      await output(cargo, ["build", "--quiet"], folder);
      const version = await output(cargo, ["--version"], folder);
      const [, number = ""] = /cargo (\S+)/.exec(version) ?? [];
      return { command: () => [join(folder, "target", "debug", "receiver")], version: `Rust ${number}` };
    },
  },
];
