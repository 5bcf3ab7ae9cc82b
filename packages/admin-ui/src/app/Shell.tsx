import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { signOut } from "../api/client.ts";
import { type Connection, useConnection } from "../api/connection.ts";
import { sessionQuery } from "../api/queries.ts";
import { classNames } from "../common/class-names.ts";
import { Icon } from "../common/display/Icon.tsx";
import { Notice, type NoticeProps } from "../common/feedback/Notice.tsx";
import { Button, RefetchButton, ReloadButton } from "../common/form/Button.tsx";
import controls from "../common/form/form.module.css";
import { usePlace } from "../common/page/Page.tsx";
import { product } from "../common/product.ts";
import shared from "../common/shared.module.css";
import { Time } from "../common/Time.tsx";
import mark from "./mark.svg";
import css from "./Shell.module.css";

export function Shell({ children }: { children: ReactNode }) {
  return (
    <>
      <button type="button" className={css.skip} onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <header className={classNames(shared.bar, css.head)}>
        <nav className={css.trail} aria-label="You are here">
          {product.hasLogo ? (
            <img className={css.logo} src="logo" alt={product.name} height="22" />
          ) : (
            <img src={mark} alt="" width="22" height="22" />
          )}
          <Trail />
        </nav>
        <Who />
        <div className={css.tools}>
          <SearchBox />
          {product.signOutUrl === null ? null : (
            <Button kind="quiet" onClick={() => void signOut(product.signOutUrl ?? "")}>
              Sign out
            </Button>
          )}
        </div>
      </header>
      <ConnectionBanner />
      <main id="main" className={css.main} tabIndex={-1}>
        {children}
      </main>
      <div id="announcements" className={shared.unseen} aria-live="polite" data-announcements />
    </>
  );
}

function Trail() {
  const place = usePlace();
  const [location] = useLocation();
  const steps: [href: string, words: string][] = [["/", "Webhooks"]];
  if (location.startsWith("/events/")) steps.push(["/events", "Events"]);
  return (
    <ol>
      <li>Integrations</li>
      {steps.map(([href, words]) => (
        <li key={href}>
          <Link href={href} aria-current={place === null ? "page" : undefined}>
            {words}
          </Link>
        </li>
      ))}
      {place === null ? null : <li aria-current="page">{place}</li>}
    </ol>
  );
}

function Who() {
  const { data: session } = useQuery({ ...sessionQuery, enabled: false });
  if (!session) return null;
  const whose = [session.name ?? session.subject, session.organizationId].filter(Boolean);
  // Isolated: an id's first digits would move to the other side of an Arabic name.
  const words = whose.map((each) => `\u2068${each}\u2069`).join(" · ");
  return (
    <p className={classNames(shared.note, shared.cut, css.who)} data-hint={words}>
      <span className={shared.unseen}>Signed in as </span>
      {words}
    </p>
  );
}

/** Finds anything by what one has of it: from every scene, and with what was looked for still in it on the results' page. */
function SearchBox() {
  const [location, go] = useLocation();
  const [search] = useSearchParams();
  const sought = location === "/search" ? (search.get("q") ?? "") : "";
  const [text, setText] = useState(sought);
  useEffect(() => setText(sought), [sought]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() !== "") go(`/search?q=${encodeURIComponent(text.trim())}`);
  };
  return (
    <search className={css.search}>
      <form className={css.box} onSubmit={submit}>
        <Icon name="search" />
        <input
          className={controls.input}
          type="search"
          aria-label="Find an event, entity, delivery or webhook"
          placeholder="Find by id, name or URL"
          value={text}
          onChange={(event) => setText(event.target.value)}
          autoComplete="off"
          spellCheck={false}
        />
      </form>
    </search>
  );
}

/** Says what is wrong with the connection to the API, above the page. The region is always there, so that it is read out. */
function ConnectionBanner() {
  const fault = faultOf(useConnection());
  // Until the session is there, the page has nothing else to say than just this.
  const { data: session } = useQuery({ ...sessionQuery, enabled: false });
  return (
    <div className={css.banner} role="status">
      {session && fault ? <Notice tone="care" icon="lock" {...fault} /> : null}
    </div>
  );
}

function faultOf({ downSince, lastAnswerAt, session, signInUrl }: Connection): Partial<NoticeProps> | undefined {
  if (downSince !== null) {
    return {
      tone: "bad",
      icon: "offline",
      title: `${product.name}'s API can't be reached.`,
      actions: <RefetchButton>Try now</RefetchButton>,
      children: (
        <p>
          It stopped answering <Time iso={new Date(downSince).toISOString()} />.{" "}
          {lastAnswerAt === null ? null : (
            <>
              What you see is from <Time iso={new Date(lastAnswerAt).toISOString()} />.{" "}
            </>
          )}
          The page asks again every few seconds; what you have typed stays.
        </p>
      ),
    };
  }
  if (session === "lost") {
    return {
      title: "Your session has ended.",
      actions: <RefetchButton>Try now</RefetchButton>,
      children: (
        <p>
          {signInUrl ? (
            <>
              <a href={signInUrl} target="_blank" rel="noreferrer">
                Sign in again
              </a>{" "}
              in a new tab,
            </>
          ) : (
            "Sign in to your product again in another tab,"
          )}{" "}
          then carry on here: nothing on this page is lost.
        </p>
      ),
    };
  }
  if (session === "another") {
    return {
      title: "You are signed in for another organization now.",
      actions: <ReloadButton>Load its page</ReloadButton>,
      children: (
        <p>This page is about the one before. To save something here, sign in for that one again in another tab.</p>
      ),
    };
  }
  if (session === "alive") return undefined;
  return {
    title: `Something in front of ${product.name} answers in its place.`,
    actions: <ReloadButton />,
    children: (
      <p>
        Your sign-in may have ended. Load the page again; or, to keep what you have typed,{" "}
        <a href={location.href} target="_blank" rel="noreferrer">
          sign in in a new tab
        </a>
        , then carry on here.
      </p>
    ),
  };
}
