import { addressRules } from "@herald/common/security/address-guard";
import { DEFAULT_API_LIMITS, EVENT_TYPES } from "@herald/contracts";
import { apiSchemas, type Schema } from "@herald/contracts/schemas";
import { describe, expect, test } from "@jest/globals";
import { apiFormats } from "./formats.ts";
import { apiValidator, periodFault, readQuery, unknownParameters } from "./validator.ts";

const validator = apiValidator(apiSchemas(), apiFormats(DEFAULT_API_LIMITS, addressRules({}), "X-Service"));
const valid = {
  name: "Billing",
  url: "https://hooks.example.com",
  enabled: true,
  events: ["RiskCreated"],
};

describe("§7 what is said of a body", () => {
  const detailOf = (changes: object) => {
    const problems = validator.body("CreateWebhookRequest", { ...valid, ...changes });
    expect(problems).toHaveLength(1);
    return problems[0]?.detail;
  };

  test.each<[object, string]>([
    [{ name: undefined }, "This field is missing."],
    [{ name: 7 }, "This must be a string, but is a number."],
    [{ name: null }, "This must be a string, but is null."],
    [{ name: "" }, "This must not be empty."],
    [{ name: "  " }, "This must not be empty."],
    [{ name: "🚀".repeat(201) }, "This has 201 characters; 200 is the most."],
    [{ enabled: [] }, "This must be a boolean, but is an array."],
    [{ events: {} }, "This must be an array, but is an object."],
    [{ events: [] }, "At least one is needed."],
    [{ events: ["x"] }, `This must be one of ${EVENT_TYPES.join(", ")}.`],
    [{ version: "AAAAAAAAAAE=" }, "This must be null, but is a string."],
  ])("a body with %j gets the detail: %s", (changes, detail) => expect(detailOf(changes)).toBe(detail));

  test.each([[[]], ["text"], [7], [null], [true]])("§7/400 the body %j is no object", (body) => {
    expect(validator.body("CreateWebhookRequest", body)).toMatchObject([{ pointer: "", code: "wrong_type" }]);
  });

  test("a valid body has no problems, and an absent field gets its default", () => {
    const body = { ...valid };
    expect(validator.body("CreateWebhookRequest", body)).toEqual([]);
    expect(body).toMatchObject({ rotateSecret: false });
  });

  test("regression: a filter with a slip in its name is refused, and the problem names the field that it resembles", () => {
    expect(validator.body("StartResendRequest", { eventTypes: ["RiskCreated"], "a/b": 1 })).toEqual([
      {
        pointer: "/eventTypes",
        code: "unknown_field",
        detail: "Did you mean eventType? This takes eventType, statusCode, from, to.",
      },
      { pointer: "/a~1b", code: "unknown_field", detail: "This takes eventType, statusCode, from, to." },
    ]);
    expect(validator.body("CheckWebhookRequest", { URL: "https://hooks.example.com" })).toMatchObject([
      { pointer: "/URL", code: "unknown_field", detail: expect.stringContaining("Did you mean url?") },
    ]);
  });

  test("the validator reports fifty problems at most", () => {
    const events = Array.from({ length: 200 }, () => "x");
    expect(validator.body("CreateWebhookRequest", { ...valid, events })).toHaveLength(50);
  });

  test("the validator converts no field of a body", () => {
    expect(validator.body("CreateWebhookRequest", { ...valid, enabled: "true" })).toHaveLength(1);
  });
});

describe("payloads", () => {
  const codeOf = (payloadJson: string) =>
    validator.body("DeliverRequest", { eventType: "RiskCreated", payloadJson })[0]?.code;

  test.each([" {} ", "null", "0", '"\\ud800"', "[1e400]", '{"a":1,"a":2}', '"\u2028"'])(
    "the payload %j is JSON",
    (text) => {
      expect(codeOf(text)).toBeUndefined();
    },
  );

  test.each(["", " ", "{", "{}{}", "NaN", "'a'", "// {}", '{"a":1,}', "\ufeff{}", '"\n"', '"\0"'])(
    "the payload %j isn't JSON",
    (text) => expect(codeOf(text)).toBe("not_json"),
  );

  test("a payload that has no UTF-8 is refused", () => expect(codeOf('"\ud800"')).toBe("not_unicode"));

  test("the detail of a payload that isn't JSON doesn't repeat the payload", () => {
    const [problem] = validator.body("DeliverRequest", { eventType: "RiskCreated", payloadJson: '{"pin":1234 5678}' });
    expect(problem?.detail).toMatch(/at position \d+/);
    expect(problem?.detail).not.toMatch(/1234|5678|pin/);
  });

  test("the limit of a payload counts bytes of UTF-8", () => {
    const two = (bytes: number) => JSON.stringify("é".repeat((bytes - 2) / 2));
    expect(codeOf(two(DEFAULT_API_LIMITS.payloadBytes))).toBeUndefined();
    expect(codeOf(two(DEFAULT_API_LIMITS.payloadBytes + 2))).toBe("too_long");
  });
});

describe("query parameters", () => {
  const read = (query: Record<string, unknown>) => validator.query("DeliveryQuery", query);

  test("query parameters come as text and are read as the types of their schema", () => {
    expect(read({ limit: "7", outcome: "failing" })).toEqual({
      values: { limit: 7, outcome: ["failing"] },
      problems: [],
    });
    expect(read({})).toEqual({ values: { limit: 50 }, problems: [] });
  });

  test.each(["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456+02:00"])(
    "the query parameter %s is a time",
    (from) => {
      expect(read({ from }).problems).toEqual([]);
    },
  );

  test.each(["2026-01-31", "2026-02-30T00:00:00Z", "now", "1"])("the query parameter %s isn't a time", (from) =>
    expect(read({ from }).problems).toMatchObject([{ parameter: "from", code: "not_a_time" }]),
  );

  test("the problem of a repeated query parameter has its name once", () => {
    expect(read({ outcome: ["failing", "broken"] }).problems).toMatchObject([
      { parameter: "outcome", code: "unknown_value" },
    ]);
  });

  test("an operation without query parameters refuses each that comes, at most fifty", () => {
    expect(validator.query(undefined, { a: "1" }).problems).toMatchObject([
      { parameter: "a", code: "unknown_parameter" },
    ]);
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`p${index}`, ""]));
    expect(validator.query(undefined, many).problems).toHaveLength(50);
  });
});

describe("names", () => {
  const codeOf = (name: string) => validator.body("CreateWebhookRequest", { ...valid, name })[0]?.code;

  test.each([
    "Ä",
    "財務",
    "فاتورة",
    "می\u200cخواهم",
    "🚀",
    "👩‍👩‍👧",
    "❤\ufe0f",
    "x",
    "$",
    "-",
    "e\u0301",
    "क्‍ष",
    " a b ",
    "\u2803\u2800\u2803",
    "Billing\u00a0",
    "\u3000Billing",
    // Emoji of several characters, and symbols as text or emoji.
    "❤\ufe0f\u200d🔥",
    "☺\ufe0e",
    "1\ufe0f\u20e3",
    "🏳\u200d🌈",
    // The flags of England and Scotland.
    "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    // Variants of an ideograph and of a Mongolian letter.
    "葛\u{e0100}城",
    "ᠠ\u180bᠡ",
  ])("the name %j is taken", (name) => expect(codeOf(name)).toBeUndefined());

  test.each([
    ["a zero-width space", "\u200b\u200b"],
    ["the filler of Hangul", "\u3164"],
    ["the blank of Braille", "\u2800"],
    ["joiners alone", "\u200d\u200c"],
    ["a combining mark alone", "\u0301"],
    ["tags alone", "\u{e0041}\u{e0042}"],
    ["a space of another width", "\u2003"],
  ])("a name that shows as nothing is refused: %s", (_title, name) => expect(codeOf(name)).toBe("blank"));

  test.each([
    ["an override of the direction", "\u202egnp.exe"],
    ["a joiner that joins nothing", "Bill\u200cing"],
    ["a joiner at its end", "Billing\u200d"],
    ["an isolate", "a\u2066b\u2069"],
    ["a mark of the direction", "Billing\u200e"],
    ["a zero-width space", "Bil\u200bling"],
    ["a soft hyphen", "Bil\u00adling"],
    ["a byte order mark", "\ufeffBilling"],
    ["the blank of Braille at its end", "Billing\u2800"],
    ["the blank of Braille at its beginning", "\u2800Billing"],
    ["tags", "Billing\u{e0041}"],
    ["the flag of no region", "🏴\u{e0067}\u{e0062}\u{e0061}\u{e0062}\u{e0063}\u{e007f}"],
    ["a selector of a variant that no letter has", "Pay\ufe0froll"],
    ["a selector of a digit", "1\ufe0f"],
    ["a selector of an ideograph's variant beside a letter", "a\u{e0100}b"],
    ["two selectors, which can hold any text", "葛\u{e0100}\u{e0101}城"],
    ["a joiner of graphemes", "a\u034fb"],
    ["a filler of Hangul in a word", "Pay\u3164roll"],
    ["a filler in a syllable", "한\u115f국"],
    ["a vowel of Khmer that does not show", "x\u17b4"],
  ])("a name that can pass for another one is refused: %s", (_title, name) =>
    expect(codeOf(name)).toBe("invisible_characters"),
  );

  test.each(["a\nb", "a\0b", "a\u0085b", "a\u2028b", "a\u2029", "a\ud800"])(
    "the name %j is refused for its control characters",
    (name) => expect(codeOf(name)).toBe("control_characters"),
  );

  test("a name is written as it is stored before it is judged", () => {
    const body = { ...valid, name: "  Cafe\u0301\u00a0\u2003Zürich " };
    expect(validator.body("CreateWebhookRequest", body)).toEqual([]);
    expect(body.name).toBe("Café Zürich");
  });
});

const parameters: Record<string, Schema> = {
  limit: { type: "integer" },
  deep: { type: "boolean" },
  name: { type: "string" },
  status: { type: "array", items: { type: "integer" } },
};

const noIntegers = ["0x10", "1e1", "1.0", " 1", "1 ", "+1", "01", "-0x1", "", "one", "１", "Infinity", "1_000"];
const noBooleans = ["1", "yes", "TRUE", ""];

test.each<[string, string | string[], unknown]>([
  ["limit", "7", 7],
  ["limit", "0", 0],
  ["limit", "-1", -1],
  ["deep", "true", true],
  ["deep", "false", false],
  ["name", "7", "7"],
  ["status", "200", [200]],
  ["status", ["200", "404", "x"], [200, 404, "x"]],
  // The schema refuses a list if one is meant, and a text.
  ["limit", ["1", "2"], ["1", "2"]],
  ...noIntegers.map((text): [string, string, string] => ["limit", text, text]),
  ...noBooleans.map((text): [string, string, string] => ["deep", text, text]),
])("the query parameter %s with %j says %j", (name, text, value) => {
  expect(readQuery({ [name]: text }, parameters)).toEqual({ [name]: value });
});

describe("unknown query parameters", () => {
  test("a query parameter with a slip in its name is refused by its name, with those that there are", () => {
    expect(unknownParameters({ evenType: "x", limit: "1" }, ["limit", "eventType"])).toEqual([
      { parameter: "evenType", code: "unknown_parameter", detail: "This takes limit, eventType." },
    ]);
  });

  test("names are compared exactly, and a prototype's names aren't known", () => {
    const names = ["Limit", "limit ", "limit[]", "toString", "__proto__"];
    const query = Object.fromEntries(names.map((name) => [name, ""]));
    expect(unknownParameters(query, ["limit"]).map(({ parameter }) => parameter)).toEqual(names);
  });

  test("if an operation takes no query parameters, the refusal says so", () => {
    expect(unknownParameters({ a: "" }, [])[0]?.detail).toBe("This takes no query parameters.");
    expect(unknownParameters({}, [])).toEqual([]);
  });
});

describe("time spans", () => {
  const noon = "2026-01-31T12:00:00Z";

  test("a span that ends before it begins is refused, by the instants that its texts say", () => {
    const problem = { parameter: "from", code: "out_of_range" };
    expect(periodFault({ from: noon, to: "2026-01-31T11:59:59Z" })).toMatchObject([problem]);
    expect(periodFault({ from: noon, to: "2026-01-31T12:59:59+01:00" })).toMatchObject([problem]);
    expect(periodFault({ from: noon, to: "2026-01-31T11:00:00-02:00" })).toEqual([]);
  });

  test("an empty span and half a span are taken", () => {
    expect(periodFault({ from: noon, to: noon })).toEqual([]);
    expect(periodFault({ from: noon })).toEqual([]);
    expect(periodFault({ to: noon })).toEqual([]);
  });
});
