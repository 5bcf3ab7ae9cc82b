import { execFile } from "node:child_process";
import { join } from "node:path";
import { findRabbitmqServer, projectFolder } from "@herald/devkit/stack";
import { expect, test } from "@jest/globals";

const COMMAND = join(projectFolder(), "packages", "rig", "dist", "commands", "chaos.js");

/**
 * Within twelve seconds: PostgreSQL gone without a word for one dispatcher, that one frozen, stalled, cut and killed, the
 * other one terminated, PostgreSQL crashed and RabbitMQ killed. `pnpm chaos --seed 918 --seconds 12` shows the same.
 */
const RUN = ["--seed", "918", "--seconds", "12", "--rate", "80"];

// Only a RabbitMQ of one's own can be killed.
(findRabbitmqServer() === undefined ? test.skip : test)(
  "§4.4.10 whatever is killed, cut or frozen: nothing is lost, changed or unending, and what comes twice has a reason",
  async () => {
    const { code, stdout, stderr } = await run([...RUN, "--disposable", "--json"]);
    const said = `${stdout}\n${stderr}`;
    expect({ code, said }).toEqual({ code: 0, said });
    const { passed, verdict, figures } = JSON.parse(stdout);
    expect({ passed, ...verdict }).toEqual({
      passed: true,
      lost: 0,
      tooManyAttempts: 0,
      afterDisabling: 0,
      forged: 0,
      unending: 0,
      unexplainedDuplicates: 0,
      wronglyDisabled: 0,
      crashed: 0,
    });
    expect(figures.faults).toMatchObject({ "postgres-crashed": 1, "rabbitmq-killed": 1, kill: 1, freeze: 1 });
    expect(figures.confirmed).toBe(12 * 80);
    expect(figures.succeeded).toBeGreaterThan(500);
  },
  300_000,
);

function run(options: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [COMMAND, ...options], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}
