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
  /** The folder in examples/, and the program in it. */
  folder: string;
  file: string;
  /** How Markdown names the language of a block of code. */
  fence: string;
  /** The library, with the version that the example asks for. */
  library: string;
  /** What a developer types in the folder, the first time. */
  commands: string;
  /**
   * Fetches the library into a copy of the folder, and compiles. Absent where the library can't be fetched here, so that it is
   * not tried.
   */
  build?: (copy: string, programs: Programs) => Promise<StartableEmitter & { version: string }>;
  /** The environment in which it trusts the authority of a file. Absent where that is OpenSSL's SSL_CERT_FILE. */
  trusting?: (authorityFile: string, copy: string, programs: Programs) => Promise<Record<string, string>>;
}

const WORK_ITEM = "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10";

export const EMITTERS: readonly EmitterLanguage[] = [
  {
    name: "Python",
    folder: "emit-python",
    file: "emit.py",
    fence: "python",
    library: "pika 1.3.2",
    commands: [
      "python3 -m venv .venv",
      ".venv/bin/pip install --requirement requirements.txt",
      `echo ${WORK_ITEM} | .venv/bin/python emit.py`,
    ].join("\n"),
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
    file: "Emit.java",
    fence: "java",
    library: "amqp-client 5.22.0",
    commands: `mvn -q dependency:copy-dependencies -DoutputDirectory=lib\necho ${WORK_ITEM} | java -cp 'lib/*' Emit.java`,
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
    file: "main.go",
    fence: "go",
    library: "amqp091-go 1.10.0",
    commands: `echo ${WORK_ITEM} | go run .`,
    build: async (copy, programs) => {
      const go = await programs.go();
      await output(go, ["build", "-o", "emit", "."], copy);
      return { command: [join(copy, "emit")], version: await goVersion(go, copy) };
    },
  },
  {
    name: "C#",
    folder: "emit-csharp",
    file: "Emit.cs",
    fence: "csharp",
    library: "RabbitMQ.Client 7.1.2",
    commands: `echo ${WORK_ITEM} | dotnet run`,
  },
  {
    name: "PHP",
    folder: "emit-php",
    file: "emit.php",
    fence: "php",
    library: "php-amqplib 3.5.3",
    commands: `composer install\necho ${WORK_ITEM} | php emit.php`,
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
