import { type ReactNode, useEffect, useRef } from "react";
import css from "./page.module.css";

let first = true;
let wentBack = false;
window.addEventListener("popstate", () => {
  wentBack = true;
});

interface Props {
  title: string;
  /** Above the title: the way back. */
  back?: ReactNode;
  /** Beside the title. */
  aside?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
}

/** The head of a scene. When the page moves on to another scene, its title takes the focus, so that who listens knows. */
export function PageHead({ title, back, aside, children, actions }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  usePageTitle(title);
  useEffect(() => {
    // The page itself was just opened: the browser does what is right.
    if (first) {
      first = false;
      return;
    }
    heading.current?.focus({ preventScroll: true });
    if (!wentBack) window.scrollTo(0, 0);
    wentBack = false;
  }, []);
  return (
    <div className={css.head}>
      {back}
      <div className={css.row}>
        <div className={css.titles}>
          <div className={css.line}>
            <h1 ref={heading} tabIndex={-1} className={css.title}>
              {title}
            </h1>
            {aside}
          </div>
          {children}
        </div>
        {actions ? <div className={css.actions}>{actions}</div> : null}
      </div>
    </div>
  );
}

const shown = new Map<symbol, { title: string; depth: number }>();

/**
 * Names the browser's tab, and with it the entry in its history.
 * @param depth what lies on top of the page has a greater one, and its title wins while it is open.
 */
export function usePageTitle(title: string, depth = 0): void {
  useEffect(() => {
    const key = Symbol();
    shown.set(key, { title, depth });
    writeTitle();
    return () => {
      shown.delete(key);
      writeTitle();
    };
  }, [title, depth]);
}

function writeTitle(): void {
  const top = [...shown.values()].reduce((one, other) => (other.depth >= one.depth ? other : one), {
    title: "Webhooks",
    depth: -1,
  });
  document.title = top.title === "Webhooks" ? "Webhooks · Integrations" : `${top.title} · Webhooks`;
}
