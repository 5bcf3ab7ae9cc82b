import { type FormEvent, useEffect, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { Icon } from "../../common/display/Icon.tsx";
import controls from "../../common/form/controls.module.css";
import css from "./search.module.css";

/** Finds anything by what one has of it: from every scene, and with what was looked for still in it on the results' page. */
export function SearchBox() {
  const [location, go] = useLocation();
  const [search] = useSearchParams();
  const sought = location === "/search" ? (search.get("q") ?? "") : "";
  const [text, setText] = useState(sought);
  useEffect(() => setText(sought), [sought]);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const jump = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      field.current?.select();
    };
    document.addEventListener("keydown", jump);
    return () => document.removeEventListener("keydown", jump);
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() !== "") go(`/search?q=${encodeURIComponent(text.trim())}`);
  };
  return (
    <search className={css.search}>
      <form className={css.box} onSubmit={submit}>
        <Icon name="search" />
        <input
          ref={field}
          className={controls.input}
          aria-keyshortcuts="/"
          data-hint="Press / to come here"
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

/** Where "/" is a letter as any other, and where a dialog is open, which keeps the focus. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest("input, textarea, select, [contenteditable], [role=dialog]") !== null
  );
}
