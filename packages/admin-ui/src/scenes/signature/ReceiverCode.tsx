import { useState } from "react";
import { Code } from "../../common/display/Code.tsx";
import { Choices } from "../../common/form/Choices.tsx";
import { Panel } from "../../common/page/Panel.tsx";
import { useSession } from "../../common/session.tsx";
import { receiverCode } from "./receiver-code.ts";
import { RECEIVER_EXAMPLES } from "./receiver-examples.ts";
import css from "./Signature.module.css";

type Language = keyof typeof RECEIVER_EXAMPLES;
const LANGUAGES = Object.keys(RECEIVER_EXAMPLES) as Language[];

export default function ReceiverCode() {
  const { headerPrefix } = useSession();
  const [language, setLanguage] = useState<Language>("Node.js");
  return (
    <Panel
      title="Code for a receiver"
      padded
      narrow
      aside={
        <Choices
          name="Language"
          value={language}
          options={LANGUAGES.map((each) => ({ value: each, words: each }))}
          onChange={setLanguage}
        />
      }
    >
      <p className={css.intro}>
        Verify the raw bytes, then parse; store the event durably, once for each <code>id</code>; answer 2xx well within
        15 s; work afterwards.
      </p>
      <Code
        what={`code in ${language}`}
        text={receiverCode(RECEIVER_EXAMPLES[language], headerPrefix)}
        wrap={false}
        tall
      />
    </Panel>
  );
}
