import type { HeraldTuning } from "../../herald/in-process.ts";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "../../herald/processes.ts";
import type { ServiceLabel } from "../plan/faults.ts";

export type SupervisedService = Awaited<ReturnType<typeof superviseService>>;

export interface SupervisorOptions {
  label: ServiceLabel;
  settings: Record<string, string>;
  tuning: HeraldTuning;
  onLine: (line: string) => void;
  /** It ended by itself. */
  onOwnEnd: (lastLines: string[]) => void;
  /** Waits the time; cut short when the run is interrupted. */
  pause: (durationMs: number) => Promise<void>;
}

/**
 * Starts a service, and again whenever it has ended, as an orchestrator would. Resolves when it is ready; later ones are not waited for, since what
 * they need may be away.
 */
export async function superviseService(options: SupervisorOptions) {
  const { label, settings, tuning, onLine, onOwnEnd, pause } = options;
  const name = label.replace(/-\d+$/, "") as ServiceName;
  /** Ended by the supervisor, or about to be. */
  const expected = new WeakSet<ServiceProcess>();
  let stopped = false;
  let current = await start(true);

  async function start(untilReady: boolean): Promise<ServiceProcess> {
    const service = await startServiceProcess(name, settings, { onLine, untilReady, tuning, clockAheadMs: 0 });
    void service.process.exited.then(() => {
      if (expected.has(service)) return;
      onOwnEnd(service.process.lastLines());
      void next();
    });
    return service;
  }

  async function next(): Promise<void> {
    if (!stopped) current = await start(false);
  }

  async function hold(): Promise<void> {
    expected.add(current);
    await current.stop();
  }

  return {
    label,
    /** The latest process, which may have ended. */
    current: () => current,
    /** Ends it with `kill -9` and starts the next after the pause. */
    async kill(pauseMs: number) {
      expected.add(current);
      await current.kill();
      await pause(pauseMs);
      await next();
    },
    /** Ends it with SIGTERM and starts the next after the pause. Returns how long the end took, in milliseconds. */
    async restart(pauseMs: number) {
      const askedAt = Date.now();
      await hold();
      const stopMs = Date.now() - askedAt;
      await pause(pauseMs);
      await next();
      return stopMs;
    },
    /** Ends it with SIGTERM. The next one starts with `resume`. */
    hold,
    resume: next,
    /** Resolves when the latest process can work. */
    ready: () => current.ready(),
    /** Lets it stand still for the pause. */
    async freeze(durationMs: number) {
      const { pid } = current.process;
      process.kill(pid, "SIGSTOP");
      await pause(durationMs);
      process.kill(pid, "SIGCONT");
    },
    /** Its machine's clock is this much ahead for the pause. */
    async setClock(aheadMs: number, durationMs: number) {
      const process = current;
      process.setClock(aheadMs);
      await pause(durationMs);
      process.setClock(0);
    },
    /** Ends it for good. */
    async stop() {
      stopped = true;
      await hold();
    },
  };
}
