import { projectFile } from "./queries.ts";

export const SYSTEMD_FOLDER = "deploy/systemd";

/** What Herald's unit sets, as systemd reads it from its file. */
export function unitEnvironment(): Record<string, string> {
  const lines = projectFile(`${SYSTEMD_FOLDER}/herald.env`).split("\n");
  const pairs = lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split(/=(.*)/s));
  return Object.fromEntries(pairs.map(([name = "", value = ""]) => [name, value]));
}

/** The words of a unit's one command. */
export function unitCommand(unit: string): string[] {
  const [, command = ""] = /^ExecStart=(.*)$/m.exec(projectFile(`${SYSTEMD_FOLDER}/${unit}`)) ?? [];
  return command.split(" ");
}
