import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { addressRules } from "./address-guard.ts";
import { checkEndpointUrl } from "./url-policy.ts";

const check = (text: string, networks = "", maxLength?: number) =>
  checkEndpointUrl(text, {
    addresses: addressRules({ ALLOWED_PRIVATE_NETWORKS: networks }),
    ...(maxLength && { maxLength }),
  });

const NOT_PUBLIC_ADDRESS = "The URL's address is loopback, private or reserved: a receiver must have a public one.";
const THIS_MACHINE = "The URL's host is this machine itself: a receiver must have a public host name.";
const PRIVATE_NAME =
  "The URL's host name only exists inside private networks: a receiver must have a public host name.";
const NOT_ABSOLUTE = "The URL must be absolute and start with https:// and a host name.";
const PLAIN_HTTP = "The URL starts with http://, but events are sent over https:// only.";
const INVISIBLE = "The URL contains spaces, line breaks or invisible characters: remove them.";
const PLACEHOLDER = "The URL has a placeholder in { } or < >: put its value there.";
const BACKSLASH = "The URL contains a backslash: write / or %5C instead.";
const BAD_HOST = "The URL's host name is not valid.";
const BAD_HOST_OR_PORT = "The URL's host name or port is not valid.";
const CREDENTIALS =
  "The URL contains a user name or password before an @: remove it. Receivers recognize events by their signature.";
const FRAGMENT = "The URL contains a #: what follows it is never sent to a receiver. Remove it.";

const LABEL_63 = "a".repeat(63);
const NAME_253 = `${LABEL_63}.${LABEL_63}.${LABEL_63}.${"a".repeat(57)}.com`;

test.each([
  "https://example.com",
  "https://example.com/hooks/herald?tenant=42&token=abc",
  "HTTPS://Example.COM/Hooks",
  "https://example.com:443/",
  "https://example.com:8443/hooks",
  "https://example.com:65535/",
  "https://example.com./hooks",
  "https://hooks.example.co.uk/a/b/../c",
  "https://under_score.example.com/",
  "https://xn--mnchen-3ya.example/",
  "https://münchen.example/häkchen",
  "https://例え.テスト/",
  "https://example.com/a@b",
  "https://example.com/?mail=a@b.example",
  "https://example.com/%5C",
  "https://example.com/https://localhost/",
  "https://localhost.example.com/",
  "https://mylocalhost.com/",
  "https://internal.com/",
  "https://home.arpa.example.com/",
  "https://10.example.com/",
  "https://8.8.8.8/",
  "https://[2606:4700:4700::1111]/",
  "https://[64:ff9b::8.8.8.8]:8443/hooks",
  `https://${LABEL_63}.example.com/`,
  `https://${NAME_253}/`,
  `https://${NAME_253}./`,
  `https://example.com/${"a".repeat(2048 - 20)}`,
])("§2.1 %s is kept as it was typed", (url) => {
  expect(check(url)).toEqual({ ok: true, url });
});

describe("URLs that cannot be saved", () => {
  const isRefused = (text: string, code: string, message: string) =>
    expect(check(text)).toEqual({ ok: false, code, message });

  test.each([
    ["http://example.com/", "url_not_https", PLAIN_HTTP],
    ["ftp://example.com/", "url_not_https", NOT_ABSOLUTE],
    ["javascript:alert(1)", "url_not_https", NOT_ABSOLUTE],
    ["", "url_not_https", NOT_ABSOLUTE],
    ["example.com/hooks", "url_not_https", NOT_ABSOLUTE],
    ["//example.com/hooks", "url_not_https", NOT_ABSOLUTE],
    ["https:example.com", "url_not_https", NOT_ABSOLUTE],
    ["https:/example.com", "url_not_https", NOT_ABSOLUTE],
    ["https://", "url_not_https", NOT_ABSOLUTE],
    ["https:\\\\example.com", "url_not_https", NOT_ABSOLUTE],
    ["https://example.com\\@localhost/", "url_malformed", BACKSLASH],
    ["https://example.com/a\\b", "url_malformed", BACKSLASH],
    ["https://example.com/{tenant}/x", "url_malformed", PLACEHOLDER],
    ["https://{tenant}.example.com/", "url_malformed", PLACEHOLDER],
    ["https://example.com/x?tenant=<tenant>", "url_malformed", PLACEHOLDER],
    [" https://example.com/", "url_malformed", INVISIBLE],
    ["https://example.com/a b", "url_malformed", INVISIBLE],
    ["https://exam\tple.com/", "url_malformed", INVISIBLE],
    ["https://example.com/\0", "url_malformed", INVISIBLE],
    ["https://example.com/\u200b", "url_malformed", INVISIBLE],
    ["https://example.com/\ud800", "url_malformed", INVISIBLE],
    ["https://exa mple.com/", "url_malformed", INVISIBLE],
    ["https://exa%20mple.com/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://exa<mple.com/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://example.com:0/", "url_malformed", "The URL's port is 0, to which nothing can connect."],
    ["https://example.com:65536/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://example.com:https/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://:443/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://256.256.256.256/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://[::1/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://[fe80::1%25eth0]/", "url_malformed", BAD_HOST_OR_PORT],
    ["https://example..com/", "url_malformed", BAD_HOST],
    ["https://example.com../", "url_malformed", BAD_HOST],
    [`https://${LABEL_63}a.example.com/`, "url_malformed", BAD_HOST],
    [`https://a${NAME_253}/`, "url_malformed", BAD_HOST],
  ])("§2.1.1 %p is refused: it is not absolute HTTPS, or a parser would have to mend it", isRefused);

  test.each([
    ["https://user:password@example.com/", "url_has_credentials", CREDENTIALS],
    ["https://user@example.com/", "url_has_credentials", CREDENTIALS],
    ["https://@example.com/", "url_has_credentials", CREDENTIALS],
    ["https://:@example.com/", "url_has_credentials", CREDENTIALS],
    ["https://example.com@10.0.0.1/", "url_has_credentials", CREDENTIALS],
    ["https://a@b@example.com/", "url_has_credentials", CREDENTIALS],
    ["https://example.com:443@example.org?x", "url_has_credentials", CREDENTIALS],
  ])("§2.1.2 %p is refused for its credentials", isRefused);

  test.each([
    // This machine, by name
    ["https://localhost/", "url_host_not_public", THIS_MACHINE],
    ["https://localhost./", "url_host_not_public", THIS_MACHINE],
    ["https://hooks.localhost/", "url_host_not_public", THIS_MACHINE],
    ["https://%6c%6fcalhost/", "url_host_not_public", THIS_MACHINE],
    ["https://ｌｏｃａｌｈｏｓｔ/", "url_host_not_public", THIS_MACHINE],
    ["https://ⓛocalhost/", "url_host_not_public", THIS_MACHINE],
    // Loopback, in every notation
    ["https://127.0.0.1/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://127.1/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://2130706433/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://0x7f000001/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://0177.0.0.1/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://１２７.０.０.１/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://%31%32%37.0.0.1/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://[::1]/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://[::ffff:127.0.0.1]/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    // Private infrastructure
    ["https://0/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://169.254.169.254/latest/meta-data", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://[fe80::1]/", "url_host_not_public", NOT_PUBLIC_ADDRESS],
    ["https://receiver/", "url_host_not_public", PRIVATE_NAME],
    ["https://receiver./", "url_host_not_public", PRIVATE_NAME],
    ["https://printer.local/", "url_host_not_public", PRIVATE_NAME],
    ["https://metadata.google.internal./", "url_host_not_public", PRIVATE_NAME],
    ["https://localhost.localdomain/", "url_host_not_public", PRIVATE_NAME],
    ["https://wiki.corp/", "url_host_not_public", PRIVATE_NAME],
    ["https://nas.home.arpa/", "url_host_not_public", PRIVATE_NAME],
    ["https://router.lan/", "url_host_not_public", PRIVATE_NAME],
  ])("§2.1.3 %p is refused: it leads to this machine or into private infrastructure", isRefused);

  test.each([
    ["https://example.com/#/hooks", "url_has_fragment", FRAGMENT],
    ["https://example.com#", "url_has_fragment", FRAGMENT],
  ])("§2.1.4 %p is refused: its fragment would never be sent", isRefused);

  test("§2.1 a URL of 2,049 characters is refused, and the limit is a setting", () => {
    const url = `https://example.com/${"a".repeat(2049 - 20)}`;
    expect(check(url)).toEqual({
      ok: false,
      code: "url_too_long",
      message: "The URL is longer than 2048 characters.",
    });
    expect(check(url, "", 2049)).toEqual({ ok: true, url });
  });

  test("§2.1.2 no message repeats what was typed: it may be a password", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z]{12}$/), fc.constantFrom("", ":x", "\\", "#", " "), (word, rest) => {
        const result = check(`https://${word}${rest}@example.com/`);
        expect(result.ok).toBe(false);
        expect(JSON.stringify(result)).not.toContain(word);
      }),
    );
  });
});

test.each([
  ["https://127.0.0.1:8443/", "127.0.0.0/8", true],
  ["https://[::1]:8443/", "127.0.0.0/8", false],
  ["https://[::1]:8443/", "::1", true],
  ["https://localhost:8443/", "127.0.0.0/8", true],
  ["https://localhost/", "10.0.0.0/8", false],
  ["https://10.1.2.3/", "10.0.0.0/8", true],
  ["https://receiver:8443/", "172.16.0.0/12", true],
  ["http://127.0.0.1/", "127.0.0.0/8", false],
  ["https://user@127.0.0.1/", "127.0.0.0/8", false],
])("%s with ALLOWED_PRIVATE_NETWORKS=%s: %p", (url, networks, ok) => {
  expect(check(url, networks).ok).toBe(ok);
});

describe("networks that are closed", () => {
  const CLOSED = "The URL's address is in a network that is closed to webhooks here: a receiver must have another one.";
  const addresses = addressRules({
    ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8,::1",
    DENIED_NETWORKS: "8.8.8.0/24,127.0.0.0/8",
    NAT64_PREFIXES: "2a01:4f8:64::/96",
  });

  test.each(["https://8.8.8.8/", "https://134744072/", "https://[2a01:4f8:64::808:808]/", "https://127.0.0.1/"])(
    "%s is refused, with why",
    (url) => {
      expect(checkEndpointUrl(url, { addresses })).toEqual({ ok: false, code: "url_host_not_public", message: CLOSED });
    },
  );

  test.each(["https://8.8.4.4/", "https://[::1]/", "https://localhost/"])("%s is accepted", (url) => {
    expect(checkEndpointUrl(url, { addresses })).toEqual({ ok: true, url });
  });

  test("localhost is refused if all of its addresses are closed", () => {
    const closed = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8", DENIED_NETWORKS: "127.0.0.0/8" });
    expect(checkEndpointUrl("https://localhost/", { addresses: closed }).ok).toBe(false);
  });
});
