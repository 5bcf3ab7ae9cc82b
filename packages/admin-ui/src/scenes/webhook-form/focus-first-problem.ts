/** After a refused save: to the first field that is to be corrected, once it is marked. */
export function focusFirstProblem(): void {
  requestAnimationFrame(() => {
    const field = document.querySelector<HTMLElement>("main form [aria-invalid]");
    field?.focus();
    field?.scrollIntoView({ block: "center" });
  });
}
