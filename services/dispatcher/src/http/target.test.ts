import { expect, test } from "@jest/globals";
import { createTargets } from "./target.ts";

test.each([
  ["https://example.com", "example.com", 443, "/", "example.com"],
  ["https://Example.COM:443/A?b=c#d", "example.com", 443, "/A?b=c", "example.com"],
  ["https://example.com:8443/a/../b", "example.com", 8443, "/b", "example.com:8443"],
  ["https://example.com.:8443/", "example.com", 8443, "/", "example.com:8443"],
  [
    "https://münchen.example/häkchen?ü",
    "xn--mnchen-3ya.example",
    443,
    "/h%C3%A4kchen?%C3%BC",
    "xn--mnchen-3ya.example",
  ],
  ["https://0x7f.1/", "127.0.0.1", 443, "/", "127.0.0.1"],
  ["https://[2606:4700::1111]:8443/", "2606:4700::1111", 8443, "/", "[2606:4700::1111]:8443"],
  ["https://[::ffff:10.0.0.1]/", "::ffff:a00:1", 443, "/", "[::ffff:a00:1]"],
])("the target of %s", (url, host, port, path, hostHeader) => {
  const servername = /^\d|:/.test(host) ? "" : host;
  expect(createTargets()(url)).toMatchObject({ host, port, servername, path, hostHeader });
});

test.each(["http://example.com", "https://a@example.com", "https://:b@example.com", "https://", "example.com", ""])(
  "%p is no target",
  (url) => {
    expect(createTargets()(url)).toBeNull();
  },
);

test("a target is made once for each URL", () => {
  const targetOf = createTargets();
  expect(targetOf("https://example.com/a")).toBe(targetOf("https://example.com/a"));
  expect(targetOf("https://example.com/a")).not.toBe(targetOf("https://example.com/b"));
});
