/** A table in Markdown. */
export function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
