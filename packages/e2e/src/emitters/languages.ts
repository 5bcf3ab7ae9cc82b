import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { goVersion, javaVersion, type Programs } from "../receivers/languages.ts";
import { output } from "../receivers/output.ts";

/** What starts an emitter of the examples, in the folder that it was built in. */
export interface StartableEmitter {
  command: [program: string, ...args: string[]];
  env?: Record<string, string>;
}

/** A language that the project has an emitter in, for one of its libraries. */
export interface EmitterLanguage {
  /** As documents call it. */
  name: string;
  /** The folder in examples/. */
  folder: string;
  /**
   * Fetches the library into a copy of the folder, and compiles. Absent where the library can't be fetched here, so that it is
   * not tried.
   */
  build?: (copy: string, programs: Programs) => Promise<StartableEmitter & { version: string }>;
  /** The environment in which it trusts the authority of a file. Absent where that is OpenSSL's SSL_CERT_FILE. */
  trusting?: (authorityFile: string, copy: string, programs: Programs) => Promise<Record<string, string>>;
}

export const EMITTERS: readonly EmitterLanguage[] = [
  {
    name: "Python",
    folder: "emit-python",
    build: async (copy, programs) => {
      const python = await programs.language("python3");
      const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
      await output(python, [...install, "--target", "library", "--requirement", "requirements.txt"], copy);
      return {
        command: [python, "-B", "emit.py"],
        env: { PYTHONPATH: join(copy, "library") },
        version: await output(python, ["--version"], copy),
      };
    },
  },
  {
    name: "Java",
    folder: "emit-java",
    build: async (copy, programs) => {
      const [compiler, maven] = [await programs.language("javac"), await programs.language("mvn")];
      await output(maven, ["-q", "dependency:copy-dependencies", "-DoutputDirectory=lib"], copy);
      await output(compiler, ["-cp", "lib/*", "-d", "classes", "Emit.java"], copy);
      return { command: ["java", "-cp", "lib/*:classes", "Emit"], version: await javaVersion(compiler, copy) };
    },
    trusting: async (file, copy, programs) => {
      const keytool = join(dirname(realpathSync(await programs.language("javac"))), "keytool");
      const store = ["-keystore", "authorities", "-storepass", "changeit"];
      await output(keytool, ["-importcert", "-noprompt", "-file", file, ...store], copy);
      const trust = `-Djavax.net.ssl.trustStore=${join(copy, "authorities")}`;
      return { JAVA_TOOL_OPTIONS: `${trust} -Djavax.net.ssl.trustStorePassword=changeit` };
    },
  },
  {
    name: "Go",
    folder: "emit-go",
    build: async (copy, programs) => {
      const go = await programs.go();
      await output(go, ["build", "-o", "emit", "."], copy);
      return { command: [join(copy, "emit")], version: await goVersion(go, copy) };
    },
  },
  {
    name: "C#",
    folder: "emit-csharp",
  },
  {
    name: "PHP",
    folder: "emit-php",
    build: async (copy, programs) => {
      const php = await programs.language("php-amqplib");
      // Debian's package of the library, where Composer would put it.
      mkdirSync(join(copy, "vendor"), { recursive: true });
      writeFileSync(join(copy, "vendor", "autoload.php"), '<?php require "PhpAmqpLib/autoload.php";\n');
      const print = 'require "vendor/autoload.php"; echo PHP_VERSION, ", php-amqplib ", PhpAmqpLib\\Package::VERSION;';
      return { command: [php, "emit.php"], version: `PHP ${await output(php, ["-r", print], copy)}` };
    },
  },
];
