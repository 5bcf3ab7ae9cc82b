/** Why a statement is refused, and what to write in its place. Both go into one line behind each other, as sentences. */
export interface Reproach {
  why: string;
  remedy: string;
}

const USED: Reproach = {
  why: "The version before still uses it",
  remedy: "Have this release no longer use it, and remove it in the next one",
};
const RENAMED: Reproach = {
  why: "The version before knows it by its old name",
  remedy: "Add what is new beside it, write both, and remove the old one in the next release",
};
const REWRITTEN: Reproach = {
  why: "It writes the whole table again, and nobody reads or writes the table meanwhile",
  remedy: "Add a column without it, and fill that in steps",
};
const NOT_NULL: Reproach = {
  why: "The version before inserts rows without it",
  remedy: "Give the column a constant default, or let it be null until the next release",
};
const UNIQUE: Reproach = {
  why: "Old rows may break it, and the version before may write such rows",
  remedy: "Have this release write no such rows, and demand it in the next one",
};
const DEMANDED: Reproach = {
  why: "The version before may write rows that break it",
  remedy:
    "Have this release write no such rows; in the next one add it as not valid, and validate it in a migration of its own",
};
const SCANNED: Reproach = {
  why: "It reads the whole table, and nobody writes the table meanwhile",
  remedy: "Add it as not valid, and validate it in a migration of its own",
};
const INDEXED: Reproach = {
  why: "Nobody writes the table while the index is built",
  remedy: "Write create index concurrently, in a migration of its own that begins with -- herald: no transaction",
};
const IN_TRANSACTION: Reproach = {
  why: "PostgreSQL refuses it in a transaction",
  remedy: "Begin the file with -- herald: no transaction, and give each such statement a migration of its own",
};
const MANY_ROWS: Reproach = {
  why: "In one transaction it holds every row that it writes, and leaves as many dead ones",
  remedy: "Have a service do it in steps, or let the code take old rows as they are",
};
const REPLACED: Reproach = {
  why: "The version before uses it as it was",
  remedy: "Make another one beside it, and drop the old one in the next release",
};
const HIDDEN: Reproach = {
  why: "What it does can't be told from its words",
  remedy: "Write plain statements",
};
const UNKNOWN: Reproach = {
  why: "It is none of the statements that are known to let the version before work on",
  remedy: "Write it otherwise; or judge it, and write above it: -- herald: safe, since ...",
};

type Rule = readonly [words: RegExp, reproach: Reproach | null];

/** The first rule whose words are found decides. Null: it does no harm. */
const STATEMENTS: readonly Rule[] = [
  [/^drop /, USED],
  [/^alter \w+ .*\brename\b/, RENAMED],
  [/^alter type \S+ add value /, null],
  [/^create unique index /, UNIQUE],
  [/^create index (?!concurrently )/, INDEXED],
  [/^create or replace /, REPLACED],
  [/^create (view|function|procedure|sequence|type|domain) /, null],
  [/^(insert|comment|grant|set) /, null],
  [/^(update|delete|merge|with) /, MANY_ROWS],
  [/^do /, HIDDEN],
];

const ACTIONS: readonly Rule[] = [
  [/^drop /, USED],
  [/^rename /, RENAMED],
  [/^set schema /, RENAMED],
  [/^add (constraint \S+ )?(unique|primary key|exclude)\b/, UNIQUE],
  [/^add (constraint \S+ )?(check|foreign key)\b.* not valid$/, DEMANDED],
  [/^add (constraint \S+ )?(check|foreign key)\b/, SCANNED],
  [/^alter (column )?\S+ (set data )?type /, REWRITTEN],
  [/^alter (column )?\S+ set not null$/, NOT_NULL],
  [/^alter (column )?\S+ drop default$/, NOT_NULL],
  [/^alter (column )?\S+ set (default|statistics|storage) /, null],
  [/^set (logged|unlogged|tablespace|access method)\b/, REWRITTEN],
  [/^(set|reset) \(/, null],
  [/^validate constraint /, null],
];

/** What stands behind `default`, up to what else is said of the column. */
const DEFAULT = /(?<!["\w])default (.*?)(?: (?:not null|null|unique|check|references|primary key|constraint)\b.*)?$/;

/** What may stand behind `default` and writes no row: PostgreSQL keeps it beside the table. */
const CONSTANT = /^(''|-?\d+(\.\d+)?|true|false|null|now\(\)|current_timestamp|array\[[^\]]*\])(::[\w"[\]() ]+)?$/;

/** Judges a statement that is about no single table, or makes an index. */
export function statementReproach(text: string, inTransaction: boolean): Reproach[] {
  if (/^create index concurrently /.test(text)) return inTransaction ? [IN_TRANSACTION] : [];
  return judged(STATEMENTS, text);
}

/** Judges a part of `alter table`, on a table that the version before uses. */
export function actionReproach(text: string): Reproach[] {
  const isConstraint = /^add (constraint|unique|primary key|check|foreign key|exclude)\b/.test(text);
  const [, , definition] = /^add (column )?(?:if not exists )?\S+ (.*)$/.exec(text) ?? [];
  return definition === undefined || isConstraint ? judged(ACTIONS, text) : columnReproach(definition);
}

/** Judges a new column of such a table, by what follows its name. */
function columnReproach(definition: string): Reproach[] {
  const has = (words: string) => new RegExp(`(?<!["\\w])${words}(?!["\\w])`).test(definition);
  const [, value] = DEFAULT.exec(definition) ?? [];
  if (has("unique") || has("primary key")) return [UNIQUE];
  if (has("references") || has("check")) return [SCANNED];
  if (has("generated") || /^(small|big)?serial\b/.test(definition)) return [REWRITTEN];
  if (value !== undefined && !CONSTANT.test(value)) return [REWRITTEN];
  return has("not null") && value === undefined ? [NOT_NULL] : [];
}

/** Judges a new table, which is free but for what it has to do with tables of the version before. */
export function columnsReproach(text: string, isNew: (table: string) => boolean): Reproach[] {
  const others = [...text.matchAll(/(?<!["\w])(?:references|partition of) ([^\s(]+)/g)].map(([, table = ""]) => table);
  return others.every(isNew) ? [] : [UNKNOWN];
}

/** The table that a statement creates; undefined where it creates none. */
export function createdTable(text: string): string | undefined {
  return /^create (?:unlogged )?table (?:if not exists )?([^\s(]+)/.exec(text)?.[1];
}

/** The table that a statement indexes; undefined where it makes no index. */
export function indexedTable(text: string): string | undefined {
  return /^create (?:unique )?index (?:.*? )?on (?:only )?([^\s(]+)/.exec(text)?.[1];
}

function judged(rules: readonly Rule[], text: string): Reproach[] {
  const rule = rules.find(([words]) => words.test(text));
  const reproach = rule ? rule[1] : UNKNOWN;
  return reproach ? [reproach] : [];
}
