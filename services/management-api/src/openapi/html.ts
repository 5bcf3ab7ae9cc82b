/** HTML that is safe to put into a page as it stands. */
export type Html = { readonly html: string };

/** Writes HTML: what is put in is escaped, unless it is HTML already; lists are joined. */
export function html(parts: TemplateStringsArray, ...values: (string | number | Html | Html[])[]): Html {
  const text = parts.reduce((before, part, index) => before + textOf(values[index - 1] ?? "") + part);
  return { html: text };
}

function textOf(value: string | number | Html | Html[]): string {
  if (Array.isArray(value)) return value.map((each) => each.html).join("");
  return typeof value === "object" ? value.html : escaped(String(value));
}

/** Text as it stands in HTML, within an attribute too. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A description, whose backquotes set names apart and whose blank lines end paragraphs. */
export function prose(text: string): Html {
  const paragraphs = text.split("\n\n").map((paragraph) => escaped(paragraph).replace(/`([^`]+)`/g, "<code>$1</code>"));
  return { html: paragraphs.join("<br>") };
}
