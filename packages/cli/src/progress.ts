/** Tells whoever waits for a command what it is at. A command that ends soon tells nothing. */
export interface Progress {
  /** What the command is at now, in a few words. */
  say(text: string): void;
  /** Takes the line off the terminal, so that something else can be written. */
  clear(): void;
  /** Looks whether something is to be written now. */
  tick(): void;
}

export interface ProgressOptions {
  /** Of the command. */
  name: string;
  write: (text: string) => void;
  /** Whether a line that is written can be written over. */
  isTerminal: boolean;
  /** Milliseconds from any fixed point, never going back. */
  nowMs: () => number;
}

/** Nobody wonders about a command before. */
const FIRST_AFTER_MS = 1_000;
/** In a log, where each line stays. */
const LINE_EVERY_MS = 5_000;
/** A narrow terminal would wrap a longer line, and then could not write over it. */
const MAX_CHARACTERS = 79;

const CLEAR_LINE = "\r\u001b[K";

/** On a terminal one line that changes; elsewhere a line now and then. */
export function createProgress({ name, write, isTerminal, nowMs }: ProgressOptions): Progress {
  const startedMs = nowMs();
  let text: string | undefined;
  let shown = "";
  let writtenMs = startedMs;

  function lineAt(elapsedMs: number): string {
    const line = `${name}: ${text} (${Math.floor(elapsedMs / 1_000)} s)`;
    return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 3)}...` : line;
  }

  function clear(): void {
    if (shown !== "") write(CLEAR_LINE);
    shown = "";
  }

  return {
    say: (now) => {
      text = now;
    },
    clear,
    tick() {
      const now = nowMs();
      const elapsedMs = now - startedMs;
      if (text === undefined || elapsedMs < FIRST_AFTER_MS) return;
      if (isTerminal) {
        const line = lineAt(elapsedMs);
        if (line !== shown) write(`${CLEAR_LINE}${line}`);
        shown = line;
      } else if (now - writtenMs >= LINE_EVERY_MS) {
        writtenMs = now;
        write(`${lineAt(elapsedMs)}\n`);
      }
    },
  };
}
