import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { Link, useLocation } from "wouter";
import { classNames } from "../class-names.ts";
import { useInSight } from "../form/Field.tsx";
import controls from "../form/form.module.css";
import shared from "../shared.module.css";
import css from "./page.module.css";

let first = true;
let wentBack = false;
window.addEventListener("popstate", () => {
  wentBack = true;
});

interface PageHeadProps {
  title: string;
  aside?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
}

/** The head of a scene. When the page moves on to another scene, its title takes the focus, so that screen readers say it. */
export function PageHead({ title, aside, children, actions }: PageHeadProps) {
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
    <div className={classNames(shared.column, css.head)}>
      <div className={shared.top}>
        <div className={css.titles}>
          <div className={shared.row}>
            <h1 ref={heading} tabIndex={-1} className={css.title}>
              {title}
            </h1>
            {aside}
          </div>
          {children}
        </div>
        {actions ? <div className={shared.row}>{actions}</div> : null}
      </div>
    </div>
  );
}

const shown = new Map<symbol, { title: string; depth: number }>();
const listeners = new Set<() => void>();
const HOME = "Webhooks";

/** Names the browser's tab, and the entry in its history. What lies on top of the page has a greater `depth`: its title wins. */
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
    title: HOME,
    depth: -1,
  });
  document.title = top.title === HOME ? `${HOME} · Integrations` : `${top.title} · ${HOME}`;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The title of the scene, without what lies on top of it; null in the list of webhooks. */
export function usePlace(): string | null {
  return useSyncExternalStore(subscribe, () => {
    const title = [...shown.values()].findLast(({ depth }) => depth === 0)?.title ?? HOME;
    return title === HOME ? null : title;
  });
}

interface PanelProps {
  title?: string | undefined;
  aside?: ReactNode;
  /** Text and controls, not a table that reaches the edges. */
  padded?: boolean;
  children: ReactNode;
}

export function Panel({ title, aside, padded = false, children }: PanelProps) {
  return (
    <section className={css.panel} aria-label={title}>
      {title ? (
        <header className={classNames(shared.bar, css.header)}>
          <h2>{title}</h2>
          {aside}
        </header>
      ) : null}
      <div className={padded ? classNames(shared.stack, css.padded) : undefined}>{children}</div>
    </section>
  );
}

interface TabsProps {
  /** Names the whole, for screen readers. */
  name: string;
  base: string;
  /** Each by its path below `base`; "" is the first one's. */
  tabs: readonly { path: string; words: string }[];
}

export function Tabs({ name, base, tabs }: TabsProps) {
  const [location] = useLocation();
  const current = tabs.findLast(({ path }) => location.startsWith(base + path))?.path ?? "";
  const bar = useRef<HTMLElement>(null);
  useInSight(bar, current);
  return (
    <nav ref={bar} className={classNames(css.tabs, controls.line)} aria-label={name}>
      {tabs.map(({ path, words }) => (
        <Link
          key={path}
          href={base + path || "/"}
          className={css.tab}
          aria-current={path === current ? "page" : undefined}
        >
          {words}
        </Link>
      ))}
    </nav>
  );
}

const sections = [
  { path: "", words: "Webhooks" },
  { path: "/events", words: "Events" },
  { path: "/deliveries", words: "Deliveries" },
  { path: "/changes", words: "Changes" },
] as const;

export function OrganizationPage({ words, children, ...head }: PageHeadProps & { words: string }) {
  return (
    <>
      <PageHead {...head}>
        <p>{words}</p>
      </PageHead>
      <div className={shared.stack}>
        <Tabs name="Parts of webhooks" base="" tabs={sections} />
        {children}
      </div>
    </>
  );
}

export function Facts({ facts }: { facts: Record<string, ReactNode> }) {
  return (
    <dl className={css.facts}>
      {Object.entries(facts)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name} className={css.fact}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
