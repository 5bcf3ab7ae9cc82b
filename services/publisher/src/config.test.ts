import { readConfig } from "@herald/common/config/read-config";
import { expect, test } from "@jest/globals";
import { publisherSettings } from "./config.ts";

test("§8/window §8/batch SPEC's numbers are the publisher's defaults", () => {
  const config = readConfig(publisherSettings, {
    HERALD_ENV: "development",
    DATABASE_URL: "postgresql://localhost/herald",
    AMQP_URL: "amqp://localhost",
  });
  expect(config).toMatchObject({ PUBLICATION_WINDOW_DAYS: 7, CATCH_UP_PAGE_SIZE: 1_000 });
});
