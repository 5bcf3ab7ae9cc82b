/** Shows the person at the terminal what is going on, and how long it has taken. */
export interface Progress {
  /** Runs a step that has a name; says when it is done, and every few seconds that it still goes on. */
  step<T>(name: string, task: (report: (text: string) => void) => Promise<T>): Promise<T>;
  say(text: string): void;
}

const STILL_GOING_MS = 5_000;

export function progressOn(write: (line: string) => void): Progress {
  const begun = Date.now();
  const line = (text: string) => write(`${seconds(Date.now() - begun)}  ${text}`);
  return {
    say: line,
    step: async (name, task) => {
      const stepBegun = Date.now();
      let latest = "";
      const timer = setInterval(() => line(`${name} ... ${latest}`.trimEnd()), STILL_GOING_MS);
      try {
        const result = await task((text) => {
          if (latest === "") line(`${name}: ${text}`);
          latest = text;
        });
        line(`${name}: done in ${seconds(Date.now() - stepBegun).trim()}`);
        return result;
      } finally {
        clearInterval(timer);
      }
    },
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(7);
}
