import { parseArgs } from "node:util";
import { measureListing } from "../bench/listing.ts";
import { openBenchPlace } from "../bench/place.ts";

const { values } = parseArgs({
  options: {
    deliveries: { type: "string", default: "5000000" },
    requests: { type: "string", default: "300" },
    json: { type: "boolean", default: false },
  },
});

const progress = (text: string) => console.error(`${text} ...`);
const place = await openBenchPlace(progress);
try {
  const figures = await measureListing(place, {
    deliveries: Number(values.deliveries),
    requests: Number(values.requests),
    progress,
  });
  if (values.json) {
    console.log(JSON.stringify(figures, null, 2));
  } else {
    const { fewDeliveries, manyDeliveries, fewMilliseconds, manyMilliseconds, ratio } = figures;
    console.log(`GET /webhooks, ${figures.endpoints} endpoints, medians of ${values.requests} requests`);
    console.log(`${fewDeliveries.toLocaleString("en")} deliveries stored      ${fewMilliseconds.toFixed(2)} ms`);
    console.log(`${manyDeliveries.toLocaleString("en")} deliveries stored   ${manyMilliseconds.toFixed(2)} ms`);
    console.log(`ratio                         ${ratio.toFixed(2)} (bar: 1.3)`);
  }
} finally {
  await place.close();
}
