import { projectFile } from "../operations/queries.ts";

/** What the last stage of deploy/docker/Dockerfile says that an image runs with. */
export interface ImageConfig {
  /** What is copied into it from the stage that builds, and to where. */
  copied: { from: string; to: string };
  workingFolder: string;
  user: { uid: number; gid: number };
  entrypoint: string[];
  environment: Record<string, string>;
}

/** @throws where the Dockerfile's last stage has an instruction that this does not know, so that none is overlooked */
export function readDockerfile(): ImageConfig {
  const text = projectFile("deploy/docker/Dockerfile");
  const last = text.slice(text.lastIndexOf("\nFROM ")).split("\n").filter(isInstruction);
  const config: Partial<ImageConfig> & Pick<ImageConfig, "environment"> = { environment: {} };
  for (const line of last) {
    const [, instruction = "", value = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (instruction === "WORKDIR") config.workingFolder = value;
    else if (instruction === "ENTRYPOINT") config.entrypoint = JSON.parse(value) as string[];
    else if (instruction === "ENV") {
      const [name = "", content = ""] = value.split("=");
      config.environment[name] = content;
    } else if (instruction === "USER") {
      const [uid, gid] = value.split(":").map(Number);
      config.user = { uid: uid ?? Number.NaN, gid: gid ?? Number.NaN };
    } else if (instruction === "COPY") {
      const [, from = "", to = ""] = /^--from=build (\S+) (\S+)$/.exec(value) ?? [];
      config.copied = { from, to };
    } else if (!["FROM", "EXPOSE"].includes(instruction)) {
      throw new Error(`This test does not know what the Dockerfile's last stage says: ${line}`);
    }
  }
  return config as ImageConfig;
}

function isInstruction(line: string): boolean {
  return line !== "" && !line.startsWith("#");
}
