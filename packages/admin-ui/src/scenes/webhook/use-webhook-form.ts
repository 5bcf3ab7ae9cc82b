import type { FieldProblem } from "@herald/contracts";
import { useEffect, useState } from "react";
import { ApiProblem, problemsOf } from "../../api/client.ts";
import { checkWebhook } from "../../api/queries.ts";
import { type Draft, type DraftField, FIELDS, repeatedHeader } from "./edits.ts";

export type WebhookForm = ReturnType<typeof useWebhookForm>;

/** The state of a create or edit form: what is typed, and what is wrong with it, in the API's words. */
export function useWebhookForm(start: Draft, mayManage: boolean) {
  const [draft, setDraft] = useState(start);
  const [touched, setTouched] = useState<ReadonlySet<DraftField>>(new Set());
  /** Reasons why the last save was refused. A field's reasons go when the field changes. */
  const [refused, setRefused] = useState<readonly FieldProblem[]>([]);
  const [refusals, setRefusals] = useState(0);
  const checks = useLiveChecks(draft, touched, mayManage);

  const change = (field: DraftField, value: Partial<Draft>): void => {
    setDraft((before) => ({ ...before, ...value }));
    setTouched((before) => new Set(before).add(field));
    setRefused((before) => before.filter((problem) => !problemsOf([problem], field).length));
  };
  const leave = (field: DraftField): void => setTouched((before) => new Set(before).add(field));
  const reset = (next: Draft): void => {
    setDraft(next);
    setTouched(new Set());
    setRefused([]);
  };
  const refuse = (error: unknown): void => {
    if (!(error instanceof ApiProblem) || !error.problem.errors) return;
    setRefused(error.problem.errors);
    setRefusals((count) => count + 1);
  };
  // Once the fields are marked.
  useEffect(() => {
    if (refusals > 0) focusFirstProblem();
  }, [refusals]);

  const problems = (field: DraftField): string[] => {
    const live = touched.has(field) ? problemsOf(checks, field) : [];
    const twice = field === "headers" ? repeatedHeader(draft) : undefined;
    return [
      ...new Set([...problemsOf(refused, field), ...live].map(inWords)),
      ...(twice === undefined ? [] : [`${twice}: two headers have this name.`]),
    ];
  };
  const headerFault = (name: string): "name" | "value" | undefined => {
    const fault = refused.find(({ pointer }) => headerOf(pointer) === name);
    return fault && (OF_VALUES.includes(fault.code) ? "value" : "name");
  };
  return { draft, change, leave, reset, replace: setDraft, refuse, problems, headerFault };
}

const OF_VALUES = ["value_needed", "missing", "blank", "value_malformed"];

function headerOf(pointer: string | undefined): string | undefined {
  return /^\/headers\/(.*)$/s
    .exec(pointer ?? "")?.[1]
    ?.replaceAll("~1", "/")
    .replaceAll("~0", "~");
}

/** A header's problem begins with its name. */
function inWords({ pointer, detail }: FieldProblem): string {
  const name = headerOf(pointer);
  return name ? `${name}: ${detail}` : detail;
}

function focusFirstProblem(): void {
  const field = document.querySelector<HTMLElement>("main form [aria-invalid]");
  field?.focus();
  field?.scrollIntoView({ block: "center" });
}

const TYPING_PAUSE_MS = 350;

/** Asks the API about touched fields, after a pause in typing. When nothing answers, nothing is said: saving checks everything anyway. */
export function useLiveChecks(
  draft: Draft,
  touched: ReadonlySet<DraftField>,
  active: boolean,
): readonly FieldProblem[] {
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const asked = FIELDS.filter((field) => touched.has(field) && field !== "enabled" && field !== "headers");
  const body = JSON.stringify(Object.fromEntries(asked.map((field) => [field, draft[field]])));
  useEffect(() => {
    if (!active || body === "{}") return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      checkWebhook(JSON.parse(body), stop.signal).then(
        ({ errors }) => setProblems(errors),
        () => {},
      );
    }, TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [body, active]);
  return problems;
}
