/**
 * How something that Herald needs was found. `warning`: Herald works, but not as safely or for as long as it could. `fault`: Herald
 * doesn't work, or loses what it was given. `skipped`: it could not be looked at, and why.
 */
export interface Finding {
  status: "ok" | "warning" | "fault" | "skipped";
  /** What is so, in a sentence. Never a secret. */
  what: string;
  /** What to do about it; null where there is nothing to do. */
  remedy: string | null;
}

/** A finding, and the check that made it. */
export interface NamedFinding extends Finding {
  check: string;
}

export function ok(what: string): Finding {
  return { status: "ok", what, remedy: null };
}

export function skipped(what: string): Finding {
  return { status: "skipped", what, remedy: null };
}

export function warning(what: string, remedy: string): Finding {
  return { status: "warning", what, remedy };
}

export function fault(what: string, remedy: string): Finding {
  return { status: "fault", what, remedy };
}
