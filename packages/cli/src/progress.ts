/** Shows the person who waits for a command what it is doing. */
export interface Progress {
  /** Sets what the command is doing now, in a few words. */
  say(text: string): void;
  /** Takes the line off the terminal, so that something else can be written. */
  clear(): void;
  /** Is called once a second. */
  tick(): void;
}

/** How often progress is written into a log, where each line stays. */
const LINE_EVERY_SECONDS = 5;
/** A narrow terminal would wrap a longer line, and then could not write over it. */
const MAX_CHARACTERS = 79;
const CLEAR_LINE = "\r\u001b[K";

/** On a terminal one line that changes; elsewhere a line now and then. A command that ends within a second tells nothing. */
export function createProgress(name: string, write: (text: string) => void, isTerminal: boolean): Progress {
  let seconds = 0;
  let text: string | undefined;
  let isShown = false;
  return {
    say: (now) => {
      text = now;
    },
    clear() {
      if (isShown) write(CLEAR_LINE);
      isShown = false;
    },
    tick() {
      seconds++;
      if (text === undefined || (!isTerminal && seconds % LINE_EVERY_SECONDS > 0)) return;
      const whole = `${name}: ${text} (${seconds} s)`;
      const line = whole.length > MAX_CHARACTERS ? `${whole.slice(0, MAX_CHARACTERS - 3)}...` : whole;
      write(isTerminal ? `${CLEAR_LINE}${line}` : `${line}\n`);
      isShown = isTerminal;
    },
  };
}
