import { useEffect, useState } from "react";
import type { Keys } from "../api/client.ts";

export const unsaved = new Map<string, unknown>();

globalThis.window?.addEventListener("beforeunload", (event) => {
  if (unsaved.size > 0) event.preventDefault();
});

/** What a form held when it was last shown, if that was not saved. @param form names it */
export function useUnsaved<T>(form: string): Partial<T> {
  return useState(() => (unsaved.get(form) ?? {}) as Partial<T>)[0];
}

/** Keeps what a form holds while other parts of the page are shown; null if nothing would get lost. The browser asks before it leaves the page. */
export function useKept(form: string, value: object | null): void {
  useEffect(() => (value === null ? void unsaved.delete(form) : void unsaved.set(form, value)));
}

/** The idempotency keys of a form. @param before those that it had when it was last shown */
export const useKeys = (before?: Keys): Keys => useState(() => before ?? new Map())[0];
