import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import express from "express";
import supertest from "supertest";
import { sessionRoutes } from "../src/administration/page.ts";
import { readManagementApiConfig } from "../src/config.ts";
import { API_PREFIX } from "../src/operations.ts";
import { environment, JWT_SECRET, settings, token, useApi } from "./support/use-api.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-admin-ui-"));
mkdirSync(join(folder, "assets"));
writeFileSync(
  join(folder, "index.html"),
  '<!doctype html><base href="/administration/integrations/" /><meta name="product" content="" /><div id="root">',
);
writeFileSync(join(folder, "assets", "index-abc123.js"), "console.log(1)");
writeFileSync(join(folder, "mark.svg"), "<svg/>");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BASE = "/tools/herald";
const api = useApi({ pageFolder: folder, settings: { BASE_PATH: BASE } });
const request = (path: string, options: RequestInit = {}) =>
  fetch(api.origin + BASE + path, { redirect: "manual", ...options });

/** A request with the cookie of a session. */
async function call(method: "GET" | "POST", headers: Record<string, string>, server = api.origin + BASE) {
  const response = await fetch(`${server}${API_PREFIX}/webhooks`, {
    method,
    headers: { Cookie: `other=1; herald_session=${await token()}`, "Content-Type": "application/json", ...headers },
    ...(method === "POST" && { body: JSON.stringify(settings()) }),
  });
  const { code } = (await response.json()) as { code?: string };
  return [response.status, code];
}

test.each(["/administration/integrations", "/administration/integrations/", "/administration/integrations/a/b?c=d"])(
  "§1/page %s is the page, with the base path written into it, and caches ask for it each time",
  async (path) => {
    const response = await request(path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(await response.text()).toContain(`<base href="${BASE}/administration/integrations/" />`);
  },
);

test("the admin page may run nothing inline and nothing from other origins", async () => {
  const policy = (await request("/administration/integrations")).headers.get("content-security-policy");
  expect(policy).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'self'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
});

test("caches keep assets with a hash in their name for a year, and ask each time for others", async () => {
  const asset = await request("/administration/integrations/assets/index-abc123.js");
  expect([asset.status, asset.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
  const icon = await request("/administration/integrations/mark.svg");
  expect([icon.status, icon.headers.get("cache-control")]).toEqual([200, "no-cache"]);
});

test.each(["assets/old-123.js", "assets/", "assets/..%2F..%2F..%2Fetc%2Fpasswd"])(
  "%s is a 404 and never the page",
  async (path) => {
    const response = await request(`/administration/integrations/${path}`);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      404,
      "application/problem+json; charset=utf-8",
    ]);
  },
);

test.each(["", "/", "/administration", "/administration/"])("%j redirects to the admin page", async (path) => {
  const response = await request(path);
  expect([response.status, response.headers.get("location")]).toEqual([302, `${BASE}/administration/integrations`]);
});

test("§4.1/prefix every route lies under the base path and /api/organization/integration-operations, and nowhere else", async () => {
  const headers = { Authorization: `Bearer ${await token()}` };
  for (const path of ["/webhooks", "/webhooks/overview", "/event-types", "/session"]) {
    expect((await request(API_PREFIX + path, { headers })).status).toBe(200);
    expect((await fetch(api.origin + API_PREFIX + path, { headers })).status).toBe(404);
    expect((await request(path, { headers })).status).toBe(404);
  }
  const document = await (await request("/openapi.json")).json();
  expect(document).toMatchObject({ servers: [{ url: BASE + API_PREFIX }] });
  expect((await request("/schemas/events/RiskCreated.json")).status).toBe(200);
});

describe("the page's session", () => {
  const sameOrigin = () => ({ Origin: api.origin });
  const signIn = async (body: unknown, headers: Record<string, string> = sameOrigin()) =>
    await request("/administration/session", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });

  test("a token becomes a cookie that scripts can't read and other sites can't use", async () => {
    const value = await token();
    const response = await signIn({ token: value });
    expect(response.status).toBe(204);
    const [pair, ...attributes] = (response.headers.get("set-cookie") ?? "").split("; ");
    expect(pair).toBe(`herald_session=${value}`);
    expect(attributes.filter((each) => !each.startsWith("Expires")).sort()).toEqual([
      "HttpOnly",
      `Path=${BASE}`,
      "SameSite=Strict",
      "Secure",
    ]);
  });

  test("a token that is too long for a cookie is said to be, and works in several", async () => {
    const groups = Array.from({ length: 400 }, (_, index) => `group-${index}`);
    const value = await token({ modules: ["administration", ...groups] });
    const refused = await signIn({ token: value });
    expect([refused.status, refused.headers.get("set-cookie")]).toEqual([401, null]);
    expect(await refused.json()).toMatchObject({
      detail: expect.stringMatching(/^The token has \d+ characters, and browsers take no cookie of more than 4,096/),
    });
    const parts = (value.match(/.{1,3500}/g) ?? []).map((part, index) => `herald_session.${index}=${part}`);
    const headers = { ...sameOrigin(), Cookie: `other=1; ${parts.join("; ")}` };
    expect((await request(`${API_PREFIX}/session`, { headers })).status).toBe(200);
    const signedOut = await request("/administration/session", { method: "DELETE", headers });
    expect(signedOut.headers.getSetCookie()).toHaveLength(1 + parts.length);
  });

  test("a bad token, no token, or a token from another site gets no cookie", async () => {
    for (const [body, headers, status] of [
      [{ token: await token({ expiresInS: -60 }) }, sameOrigin(), 401],
      [{ token: "no token" }, sameOrigin(), 401],
      [{}, sameOrigin(), 401],
      [null, sameOrigin(), 401],
      [{ token: await token() }, {}, 403],
      [{ token: await token() }, { Origin: "https://evil.example" }, 403],
    ] as const) {
      const response = await signIn(body, headers);
      expect([response.status, response.headers.get("set-cookie")]).toEqual([status, null]);
    }
  });

  test("the sign-in page and its script are served, under the same policy", async () => {
    const page = await request("/administration/sign-in");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
    expect((await request("/administration/sign-in.js")).status).toBe(200);
  });

  test("signing out takes the cookie away", async () => {
    const response = await request("/administration/session", { method: "DELETE", headers: sameOrigin() });
    expect(response.status).toBe(204);
    expect(response.headers.get("set-cookie")).toMatch(/^herald_session=; .*Expires=Thu, 01 Jan 1970/);
  });

  test("on the API the cookie reads without an Origin, and changes things with a matching Origin only; a bearer token needs none", async () => {
    expect(await call("GET", {})).toEqual([200, undefined]);
    expect(await call("POST", sameOrigin())).toEqual([200, undefined]);
    for (const headers of [{}, { Referer: `${api.origin}/` }] as Record<string, string>[]) {
      expect(await call("POST", headers)).toEqual([403, "origin_mismatch"]);
    }
    expect(await call("POST", { Authorization: `Bearer ${await token()}`, Cookie: "" })).toEqual([200, undefined]);
  });
});

describe("without a built page", () => {
  const plain = useApi({
    pageFolder: join(folder, "nothing"),
    settings: {
      PUBLIC_ORIGIN: "https://Herald.example.com:443",
      SIGN_IN_URL: "https://login.example.com/start",
    },
  });

  test("in production no link signs in", async () => {
    const config = { ...plain.config, HERALD_ENV: "production" as const };
    const app = express().use(sessionRoutes(config, async () => ({ exp: 4_000_000_000 })));
    const posted = await supertest(app)
      .post("/administration/session")
      .set("Origin", "https://herald.example.com")
      .send({ token: await token() });
    expect([posted.status, posted.headers["set-cookie"]]).toEqual([404, undefined]);
    expect((await supertest(app).get("/administration/sign-in")).status).toBe(404);
    const development = express().use(sessionRoutes(plain.config, async () => ({ exp: 4_000_000_000 })));
    expect((await supertest(development).get("/administration/sign-in")).status).toBe(200);
  });

  test("a page that isn't built says so, and how to build it", async () => {
    const response = await fetch(`${plain.origin}/administration/integrations`);
    expect(response.status).toBe(404);
    expect(((await response.json()) as { detail: string }).detail).toMatch(/isn't built.*pnpm build/);
  });

  test("if the public origin is https, every answer makes browsers use nothing else", async () => {
    for (const path of ["/administration/integrations", "/openapi.json", "/nothing"]) {
      const { headers } = await fetch(plain.origin + path);
      expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
    }
  });

  test("if a public origin is set, only that Origin matches, and the log has the two that differ", async () => {
    expect(await call("POST", { Origin: "https://herald.example.com" }, plain.origin)).toEqual([200, undefined]);
    expect(await call("POST", { Origin: plain.origin }, plain.origin)).toEqual([403, "origin_mismatch"]);
    expect(plain.logged.at(-1)).toContain(`comes from ${plain.origin}, and Herald expects https://herald.example.com`);
  });

  test("a 401 says where to sign in", async () => {
    const { body } = await (await plain.as(null)).get("/webhooks").expect(401);
    expect(body.signInUrl).toBe("https://login.example.com/start");
  });
});

describe("the admin page as a part of the product", () => {
  const logo = join(folder, "logo.svg");
  writeFileSync(logo, "<svg>the product's</svg>");
  const own = useApi({
    pageFolder: folder,
    settings: {
      PAGE_FRAME_ANCESTORS: "https://app.example.com https://admin.example.com",
      PAGE_PRODUCT_NAME: `Pro<ject> "&' $&`,
      PAGE_ACCENT_COLOR: "#1a73e8",
      PAGE_LOGO_FILE: logo,
      SIGN_OUT_URL: "https://login.example.com/end",
    },
  });
  const page = () => fetch(`${own.origin}/administration/integrations`);

  test("only the pages that a setting names may show it in a frame, and no page the API", async () => {
    const { headers } = await page();
    expect(headers.get("content-security-policy")).toContain(
      "; frame-ancestors https://app.example.com https://admin.example.com; ",
    );
    expect(headers.get("x-frame-options")).toBeNull();
    const answer = await fetch(`${own.origin}${API_PREFIX}/webhooks`);
    expect(answer.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
  });

  test("the product's name and colour are written into the page, and nothing of them is markup", async () => {
    const text = await (await page()).text();
    const content = /<meta name="product" content="([^"]*)"/.exec(text)?.[1] ?? "";
    const unescaped = content.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code));
    expect(JSON.parse(unescaped)).toEqual({
      name: `Pro<ject> "&' $&`,
      accent: "#1a73e8",
      hasLogo: true,
      signOutUrl: "https://login.example.com/end",
    });
    expect(text).not.toContain("<ject>");
  });

  test("the product's logo lies beside the page", async () => {
    const response = await fetch(`${own.origin}/administration/integrations/logo`);
    expect(response.headers.get("content-type")).toBe("image/svg+xml");
    expect(await response.text()).toBe("<svg>the product's</svg>");
  });

  test.each([
    ["PAGE_FRAME_ANCESTORS", "https://a.example.com; script-src *"],
    ["PAGE_FRAME_ANCESTORS", "*"],
    ["PAGE_ACCENT_COLOR", "red"],
    ["PAGE_LOGO_FILE", "/etc/passwd"],
  ])("%s=%s is refused at the start", (name, value) => {
    const refused = environment({ AUTH_JWT_SECRET: JWT_SECRET, [name]: value });
    expect(() => readManagementApiConfig(refused)).toThrow(name);
  });
});
