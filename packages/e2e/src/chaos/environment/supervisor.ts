import type { HeraldTuning } from "../../herald/in-process.ts";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "../../herald/processes.ts";
import type { ServiceLabel } from "../plan/faults.ts";

/** One service of the run, that is started again whenever it has ended, as an orchestrator would. */
export interface SupervisedService {
  readonly label: ServiceLabel;
  /** The latest process, which may have ended. */
  current(): ServiceProcess;
  /** Ends it with `kill -9` and starts the next after the pause. */
  kill(pauseMs: number): Promise<void>;
  /** Ends it with SIGTERM and starts the next after the pause. Returns how long the end took, in milliseconds. */
  restart(pauseMs: number): Promise<number>;
  /** Ends it with SIGTERM. The next one starts with {@link resume}. */
  hold(): Promise<void>;
  /** Ends it with `kill -9`. The next one starts with {@link resume}. */
  die(): Promise<void>;
  resume(): Promise<void>;
  /** Has the next process run with these settings, besides those that it has. */
  runWith(settings: Record<string, string>): void;
  /** Resolves when the latest process can work. */
  ready(): Promise<void>;
  /** Lets it stand still for the pause. */
  freeze(durationMs: number): Promise<void>;
  /** Its machine's clock is so much ahead for the pause. */
  setClock(aheadMs: number, durationMs: number): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

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

/** Starts a service and resolves when it is ready; later ones are not waited for, since what they need may be away. */
export async function superviseService(options: SupervisorOptions): Promise<SupervisedService> {
  const { label, tuning, onLine, onOwnEnd, pause } = options;
  let { settings } = options;
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

  return {
    label,
    current: () => current,
    async kill(pauseMs) {
      expected.add(current);
      await current.kill();
      await pause(pauseMs);
      await next();
    },
    async restart(pauseMs) {
      expected.add(current);
      const askedAt = Date.now();
      await current.stop();
      const stopMs = Date.now() - askedAt;
      await pause(pauseMs);
      await next();
      return stopMs;
    },
    async hold() {
      expected.add(current);
      await current.stop();
    },
    async die() {
      expected.add(current);
      await current.kill();
    },
    resume: next,
    runWith(more) {
      settings = { ...settings, ...more };
    },
    ready: () => current.ready(),
    async freeze(durationMs) {
      const { pid } = current.process;
      process.kill(pid, "SIGSTOP");
      await pause(durationMs);
      process.kill(pid, "SIGCONT");
    },
    async setClock(aheadMs, durationMs) {
      const process = current;
      process.setClock(aheadMs);
      await pause(durationMs);
      process.setClock(0);
    },
    async stop() {
      stopped = true;
      expected.add(current);
      await current.stop();
    },
  };
}
