/** After a refused save: to the first field that is to be corrected. */
export function focusFirstProblem(): void {
  const field = document.querySelector<HTMLElement>("main form [aria-invalid]");
  field?.focus();
  field?.scrollIntoView({ block: "center" });
}
