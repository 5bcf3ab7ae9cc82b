import type { ReactNode } from "react";
import { classNames } from "../class-names.ts";
import { Copy } from "./Copy.tsx";
import css from "./display.module.css";

interface Props {
  /** Names the block for who listens, and its copy button. */
  what: string;
  text: string;
  /** Shown instead of the bare text, for marked-up text. */
  children?: ReactNode;
  /** Lines break where the block ends. Off for program code. */
  wrap?: boolean;
  tall?: boolean;
}

/** Text to the letter, scrollable by keyboard, with a button that copies it. */
export function Code({ what, text, children, wrap = true, tall = false }: Props) {
  return (
    <figure className={css.block}>
      {/* biome-ignore lint/a11y/useSemanticElements: it is no set of controls */}
      <pre
        className={classNames(css.text, wrap && css.wrap, tall && css.tall)}
        role="group"
        aria-label={what}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {children ?? text}
      </pre>
      <span className={css.copy}>
        <Copy text={text} what={what} small />
      </span>
    </figure>
  );
}
