import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { responseExcerpt } from "./response.ts";

const KEY = "aZ3/kQ9+vT7xW2/pL5mN8+cR4==";
const PASSWORD = "partner:s3cret & <pass> 2026";
const OWN = [
  "X-Api-Key",
  KEY,
  "Authorization",
  `Basic ${Buffer.from(PASSWORD).toString("base64")}`,
  "X-Tenant",
  "acme",
];

const json = JSON.stringify;
const html = (text: string) => text.replace(/[&<>"'/+=]/g, (each) => `&#${each.charCodeAt(0)};`);
const percent = (text: string) => text.replace(/./g, (each) => `%${each.charCodeAt(0).toString(16).padStart(2, "0")}`);
const chunked = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => Buffer.from(text.slice(at * size, (at + 1) * size)));

/** Whether eight characters in a row of a value can be read in a text. */
const shows = (text: string, value: string) =>
  Array.from({ length: value.length - 7 }, (_, at) => value.slice(at, at + 8)).some((run) =>
    text.toLowerCase().includes(run.toLowerCase()),
  );

/** What a reader of the excerpt may try. */
const readings = (text: string): string[] => {
  const once = text
    .replaceAll(/[\0\uFFFD]/g, "")
    .replace(/\\u00(..)|\\x(..)|%([\da-f]{2})|&#x(..);/gi, (_all, ...codes) =>
      String.fromCharCode(Number.parseInt(codes.slice(0, 4).find(Boolean) ?? "0", 16)),
    )
    .replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code)))
    .replace(
      /&(amp|lt|gt|quot|apos|sol);/g,
      (_all, name) => ({ amp: "&", lt: "<", gt: ">", sol: "/" })[name as "lt"] ?? "'",
    )
    .replace(/\\(.)/g, "$1");
  return once === text ? [text] : [text, ...readings(once)];
};

describe("an answer that repeats an own header", () => {
  test.each<[string, (secret: string) => string]>([
    ["as it is", (secret) => `bad key ${secret}`],
    ["in quotes", (secret) => `bad key '${secret}'.`],
    ["in JSON", (secret) => json({ got: secret })],
    ["in JSON of PHP", (secret) => json({ got: secret }).replaceAll("/", "\\/")],
    [
      "in JSON of .NET",
      (secret) =>
        json({ got: secret }).replace(/[+&<>']/g, (each) => `\\u00${each.charCodeAt(0).toString(16).toUpperCase()}`),
    ],
    ["in JSON within JSON", (secret) => json({ log: json({ got: secret }).replaceAll("/", "\\/") })],
    ["in a link", (secret) => `<a href="/login?key=${encodeURIComponent(secret)}">`],
    ["in a link in JSON", (secret) => json({ to: `/login?key=${encodeURIComponent(secret)}` })],
    ["in a link twice", (secret) => encodeURIComponent(encodeURIComponent(secret))],
    ["with each character percent-encoded", percent],
    ["in HTML", (secret) => `<p>${html(secret)}</p>`],
    [
      "in HTML by names",
      (secret) =>
        secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("/", "&sol;"),
    ],
    [
      "in HTML by hexadecimal numbers",
      (secret) => secret.replace(/./g, (each) => `&#x${each.charCodeAt(0).toString(16)};`),
    ],
    ["in a script", (secret) => secret.replace(/\W/g, (each) => `\\x${each.charCodeAt(0).toString(16)}`)],
    ["in UTF-16", (secret) => Buffer.from(secret, "utf16le").toString("latin1")],
    ["in lower case", (secret) => secret.toLowerCase()],
    ["in capitals", (secret) => secret.toUpperCase()],
    ["cut at its end", (secret) => `bad key "${secret.slice(0, 20)}..."`],
    ["cut at its beginning", (secret) => `bad key "...${secret.slice(5)}"`],
    ["cut at the end of the excerpt", (secret) => `${"x".repeat(1_010)}${secret}`],
    ["behind the end of the excerpt", (secret) => `${"x".repeat(1_024)}${secret}`],
    ["many times", (secret) => `${secret} `.repeat(60)],
  ])("%s shows no run of eight characters of it, in whatever packets it comes", (_title, spell) => {
    for (const secret of [KEY, PASSWORD]) {
      for (const size of [1, 7, 1_000, 9_999]) {
        const excerpt = responseExcerpt(chunked(spell(secret), size), OWN) ?? "";
        expect({ secret, shown: readings(excerpt).filter((text) => shows(text, secret)) }).toEqual({
          secret,
          shown: [],
        });
      }
    }
  });

  test("what stands around it, and short words, stay", () => {
    const answer = json({ tenant: "acme", got: KEY, "50 %": "\\u0041 &nbsp; %zz" });
    expect(responseExcerpt([Buffer.from(answer)], OWN)).toBe(answer.replace(KEY, "***"));
  });

  test("of no value, in whatever bytes stand around it, eight characters are shown", () => {
    const values = fc.stringMatching(/^[!-~]{8,40}$/);
    fc.assert(
      fc.property(
        values,
        fc.string(),
        fc.string(),
        fc.constantFrom(json, encodeURIComponent, html, percent),
        (value, before, after, spell) => {
          fc.pre(!shows(readings(before + after).join("\n"), value));
          const excerpt = responseExcerpt([Buffer.from(`${before} ${spell(value)} ${after}`)], ["X-Key", value]) ?? "";
          expect(shows(excerpt, value)).toBe(false);
        },
      ),
    );
  });
});
