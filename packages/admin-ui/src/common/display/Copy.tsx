import { useEffect, useState } from "react";
import { announce } from "../feedback/announce.ts";
import { Button } from "../form/Button.tsx";

interface Props {
  text: string;
  /** What is copied, as the button's name continues: "Copy" + " delivery id". */
  what: string;
  /** Only the icon shows. */
  small?: boolean;
  kind?: "primary" | "secondary" | "quiet";
  onCopied?: () => void;
}

const SAY_SO_MS = 2_000;

export function Copy({ text, what, small = false, kind = small ? "quiet" : "secondary", onCopied }: Props) {
  const [state, setState] = useState<"idle" | "copied" | "refused">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), SAY_SO_MS);
    return () => clearTimeout(timer);
  }, [state]);

  const copy = async (): Promise<void> => {
    const done = await writeClipboard(text);
    setState(done ? "copied" : "refused");
    announce(
      done ? `Copied ${what}.` : `The browser did not allow copying ${what}. Select the text and copy it by hand.`,
    );
    if (done) onCopied?.();
  };
  const words = { idle: `Copy ${what}`, copied: "Copied", refused: "Not allowed: copy by hand" }[state];
  return (
    <Button kind={kind} icon={state === "copied" ? "check" : "copy"} iconOnly={small} onClick={() => void copy()}>
      {words}
    </Button>
  );
}

async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
