import { EMITTERS, type EmitterLanguage } from "@herald/e2e/emitters/languages";
import { TRIED_EMITTERS } from "@herald/e2e/emitters/try-emitter";
import type { Tried } from "@herald/e2e/receivers/tried";
import { table } from "./blocks.ts";
import { programText, readFile, triedOn } from "./programs.ts";

/** The generated blocks of docs/emitting-events.md that show the emitters of the examples, by name. */
export function emitterBlocks(): Record<string, string> {
  const tried = JSON.parse(readFile(TRIED_EMITTERS)) as Tried[];
  const rows = EMITTERS.map((language) => [language.name, language.library, triedOn(language, tried)]);
  return {
    "tried emitters": table(["emitter", "library", "ran on"], rows),
    emitters: EMITTERS.map(section).join("\n\n"),
  };
}

function section({ name, folder, file, fence, commands }: EmitterLanguage): string {
  return `### ${name}\n\n\`\`\`sh\ncd examples/${folder}\n${commands}\n\`\`\`\n\n${programText(`${folder}/${file}`, fence)}`;
}
