import { Link, useLocation } from "wouter";
import css from "./page.module.css";

interface Props {
  /** What they are parts of, in words. */
  name: string;
  /** Where the parts are. */
  base: string;
  /** Each by its path below `base`; "" is the first one's. */
  tabs: readonly { path: string; words: string }[];
}

/** The parts of a page: links, since each has an address of its own. */
export function Tabs({ name, base, tabs }: Props) {
  const [location] = useLocation();
  const current = tabs.findLast(({ path }) => location.startsWith(base + path))?.path ?? "";
  return (
    <nav className={css.tabs} aria-label={name}>
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

/** What there is of the organization as a whole. */
export function Sections() {
  return <Tabs name="Parts of webhooks" base="" tabs={sections} />;
}
