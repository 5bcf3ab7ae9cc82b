import { type Migration, NO_TRANSACTION } from "@herald/common/database/migrations-folder";
import {
  actionReproach,
  columnsReproach,
  createdTable,
  indexedTable,
  type Reproach,
  statementReproach,
} from "./rules.ts";

/** Above a statement that the check would refuse and a person has judged: the reason stays in the file. */
const JUDGED = /^-- herald: safe, since .{10}/;

const ALTER_TABLE = /^alter table (?:if exists )?(?:only )?(\S+) (.*)$/;

/**
 * What the version before could not live with, while its processes run on the new schema: during an upgrade, and after a rollback, which
 * leaves the schema as it is. And what would keep its statements waiting. Each fault names the file, the line and the remedy.
 *
 * The first migration is free: there is no version before.
 */
export function migrationFaults(migrations: readonly Migration[]): string[] {
  return migrations.slice(1).flatMap(({ name, sql }) => {
    const statements = statementsOf(sql);
    const inTransaction = !sql.startsWith(NO_TRANSACTION);
    const faults = statements.flatMap((statement, index) => {
      if (statement.comments.some((comment) => JUDGED.test(comment))) return [];
      const isNew = newTables(statements.slice(0, index));
      return reproachesOf(statement, isNew, inTransaction).map(
        ({ why, remedy }) => `${at(name, statement)}: ${shortened(statement.text)}\n  ${why}. ${remedy}.`,
      );
    });
    const [, second] = statements;
    if (inTransaction || second === undefined) return faults;
    return [
      ...faults,
      `${at(name, second)}: a second statement outside a transaction\n  Where it fails, the first one stays. Give it a migration of its own.`,
    ];
  });
}

function reproachesOf(
  { text }: Statement,
  isNew: (table: string) => boolean,
  inTransaction: boolean,
): readonly Reproach[] {
  const [, table = "", actions = ""] = ALTER_TABLE.exec(text) ?? [];
  if (table !== "") return isNew(table) ? [] : listedIn(actions).flatMap(actionReproach);
  const created = createdTable(text);
  if (created !== undefined) return columnsReproach(text, isNew);
  const indexed = indexedTable(text);
  if (indexed !== undefined && isNew(indexed)) return [];
  return statementReproach(text, inTransaction);
}

/** Whether this migration has created the table: the version before doesn't know it, and it's empty. */
function newTables(before: readonly Statement[]): (table: string) => boolean {
  const tables = new Set(before.flatMap(({ text }) => createdTable(text) ?? []).map(bare));
  return (table) => tables.has(bare(table));
}

function bare(name: string): string {
  return name.replaceAll('"', "").replace(/^public\./, "");
}

function at(name: string, { line }: Statement): string {
  return `prisma/migrations/${name}/migration.sql:${line}`;
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 97)}...` : text;
}

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
