import { useState } from "react";
import { Choices } from "../form/Field.tsx";
import { indented } from "../json.ts";
import shared from "../shared.module.css";
import { Code } from "./Code.tsx";

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
      <Code what="body" text={text}>
        {view === "indented" ? readable : text}
      </Code>
    </div>
  );
}
