import { useState } from "react";
import csharp from "../../../../../examples/verify-csharp/Webhook.cs?raw";
import go from "../../../../../examples/verify-go/main.go?raw";
import java from "../../../../../examples/verify-java/Receiver.java?raw";
import node from "../../../../../examples/verify-node/receiver.mjs?raw";
import php from "../../../../../examples/verify-php/receiver.php?raw";
import python from "../../../../../examples/verify-python/receiver.py?raw";
import ruby from "../../../../../examples/verify-ruby/receiver.rb?raw";
import rust from "../../../../../examples/verify-rust/src/main.rs?raw";
import { classNames } from "../../common/class-names.ts";
import { Code } from "../../common/display/Code.tsx";
import { Choices } from "../../common/form/Field.tsx";
import { Panel } from "../../common/page/Page.tsx";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import css from "./Signature.module.css";
import { receiverCode } from "./signature.ts";

/** Programs that verify what Herald sends, by their languages. */
export const RECEIVER_EXAMPLES = {
  "Node.js": node,
  Python: python,
  Go: go,
  "C#": csharp,
  Java: java,
  PHP: php,
  Ruby: ruby,
  Rust: rust,
};

type Language = keyof typeof RECEIVER_EXAMPLES;
const LANGUAGES = Object.keys(RECEIVER_EXAMPLES) as Language[];

export default function ReceiverCode() {
  const { headerPrefix } = useSession();
  const [language, setLanguage] = useState<Language>("Node.js");
  return (
    <Panel
      title="Code for a receiver"
      padded
      aside={
        <Choices
          name="Language"
          value={language}
          options={LANGUAGES.map((each) => ({ value: each, words: each }))}
          onChange={setLanguage}
        />
      }
    >
      <p className={classNames(shared.softSmall, css.intro)}>
        Verify the raw bytes, then parse; store the event durably, once for each <code>id</code>; answer 2xx well within
        15 s; work afterwards.
      </p>
      <Code what={`code in ${language}`} text={receiverCode(RECEIVER_EXAMPLES[language], headerPrefix)} wrap={false} />
    </Panel>
  );
}
