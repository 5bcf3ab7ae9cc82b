import type { ReactNode } from "react";
import { Link } from "wouter";
import { product } from "../common/product.ts";
import { SearchBox } from "../scenes/search/SearchBox.tsx";
import css from "./Shell.module.css";
import { ThemeMenu } from "./theme.tsx";

/** What surrounds every scene: the navigation, the connection's state, and the scene itself. */
export function Shell({ banner, children }: { banner: ReactNode; children: ReactNode }) {
  return (
    <>
      <button type="button" className={css.skip} onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <header className={css.bar}>
        <nav className={css.trail} aria-label="You are here">
          {product.hasLogo ? <Logo /> : <Mark />}
          <ol>
            <li>{product.url === null ? "Integrations" : <a href={product.url}>{product.name}</a>}</li>
            <li>
              <Link href="/">Webhooks</Link>
            </li>
          </ol>
        </nav>
        <div className={css.tools}>
          <SearchBox />
          <ThemeMenu />
        </div>
      </header>
      {banner}
      <main id="main" className={css.main} tabIndex={-1}>
        {children}
      </main>
      <div id="announcements" className={css.announcements} aria-live="polite" aria-atomic="false" />
    </>
  );
}

/** It has words where the name doesn't stand beside it. */
function Logo() {
  return <img className={css.logo} src="logo" alt={product.url === null ? product.name : ""} height="22" />;
}

function Mark() {
  return (
    <svg className={css.mark} viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <path className={css.shield} d="M5 3h22v13c0 7-5 11.5-11 13.5C10 27.5 5 23 5 16Z" />
      <path className={css.chief} d="M5 3h22v6.5H5Z" />
      <path className={css.tick} d="m9.5 17 4.6 4.6 8.4-8.6" />
    </svg>
  );
}
