import { applyEdits, format } from "jsonc-parser";
import { useState } from "react";
import { Choices } from "../form/Field.tsx";
import shared from "../shared.module.css";
import { Code } from "./Code.tsx";

const DEEPEST = 100;

const VIEWS = [
  { value: "indented", words: "Indented" },
  { value: "as sent", words: "As sent" },
];

/** A body of JSON, indented to be read, or to the letter. It is copied to the letter. */
export function Body({ text }: { text: string }) {
  const [view, setView] = useState("indented");
  const readable = indented(text);
  return (
    <div className={shared.column}>
      {readable === text ? null : (
        <div className={shared.row}>
          <Choices name="View of the body" value={view} options={VIEWS} onChange={setView} />
        </div>
      )}
      <Code what="body" text={text} tall>
        {view === "indented" ? readable : text}
      </Code>
    </div>
  );
}

/**
 * JSON with a line for each value. Numbers, escapes and repeated keys stay as they are written, which parsing would change. What is nested
 * too deep stays as it is: each line has as many spaces as it is deep, and 40 KB could become a gigabyte.
 */
export function indented(json: string): string {
  let depth = 0;
  for (const character of json) {
    if (character === "{" || character === "[") depth += 1;
    if (character === "}" || character === "]") depth -= 1;
    if (depth > DEEPEST) return json;
  }
  return applyEdits(json, format(json, undefined, { insertSpaces: true, tabSize: 2 }));
}
