import { expect, test } from "@jest/globals";
import { html, prose } from "./html.ts";

test("a value in the reference's HTML is escaped, unless it is HTML already", () => {
  const item = html`<li>${"<script>\"'&"}</li>`;
  expect(html`<ul>${[item, item]}</ul>${7}`.html).toBe(
    "<ul><li>&#60;script&#62;&#34;&#39;&#38;</li><li>&#60;script&#62;&#34;&#39;&#38;</li></ul>7",
  );
});

test("in the reference's texts, backquotes mark names and blank lines end paragraphs", () => {
  expect(prose("a `<b>`\n\nc").html).toBe("a <code>&#60;b&#62;</code><br>c");
});
