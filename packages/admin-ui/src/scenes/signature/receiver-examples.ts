import csharp from "../../../../../examples/verify-csharp/Webhook.cs?raw";
import go from "../../../../../examples/verify-go/main.go?raw";
import java from "../../../../../examples/verify-java/Receiver.java?raw";
import node from "../../../../../examples/verify-node/receiver.mjs?raw";
import php from "../../../../../examples/verify-php/receiver.php?raw";
import python from "../../../../../examples/verify-python/receiver.py?raw";
import ruby from "../../../../../examples/verify-ruby/receiver.rb?raw";
import rust from "../../../../../examples/verify-rust/src/main.rs?raw";

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
