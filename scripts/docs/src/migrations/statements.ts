/** A statement of a file of SQL, or a part of one, in a form that can be judged by its words. */
export interface Statement {
  /** The line of the file on which it begins, from 1. */
  line: number;
  /**
   * In small letters and with single blanks. Comments are gone, and of texts and bodies of functions only their quotes are left, since what
   * they contain are no words of the statement. Names keep their quotes, so that they are never taken for words.
   */
  text: string;
  /** The comments between the statement before and this one. */
  comments: string[];
}

/** In this order: what begins with a quote or a comment sign ends where that ends, whatever it contains. */
const TOKEN =
  /(--[^\n]*|\/\*[\s\S]*?\*\/)|(e'(?:\\[\s\S]|''|[^'\\])*'|'(?:''|[^'])*')|"(?:""|[^"])*"|(\$(\w*)\$[\s\S]*?\$\4\$)|;|\s+|\w+|[\s\S]/giy;

/** Cuts a file into its statements. */
export function statementsOf(sql: string): Statement[] {
  const statements: Statement[] = [];
  let words = "";
  let line = 1;
  let begunAt = 1;
  let comments: string[] = [];

  function end(): void {
    if (words.trim() !== "") statements.push({ line: begunAt, text: flat(words), comments });
    words = "";
    comments = [];
  }

  for (const [token = "", comment, text, body] of sql.matchAll(TOKEN)) {
    if (token === ";") end();
    else if (comment !== undefined) {
      if (words.trim() === "") comments.push(comment);
      words += " ";
    } else {
      if (words.trim() === "" && token.trim() !== "") begunAt = line;
      if (text !== undefined) words += "''";
      else if (body !== undefined) words += "$$";
      else words += token.toLowerCase();
    }
    line += token.split("\n").length - 1;
  }
  end();
  return statements;
}

/** Cuts a list at its commas, but for those between parentheses. */
export function listedIn(text: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let item = "";
  for (const character of text) {
    if (character === "(" || character === "[") depth++;
    if (character === ")" || character === "]") depth--;
    if (character === "," && depth === 0) {
      items.push(item.trim());
      item = "";
    } else item += character;
  }
  return [...items, item.trim()].filter((each) => each !== "");
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
