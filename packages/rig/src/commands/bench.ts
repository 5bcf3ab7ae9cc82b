import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { measureDeliveries } from "../bench/deliveries.ts";
import { openBenchPlace } from "../bench/place.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    json: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);
if (!(seconds > 0)) {
  console.error("--seconds takes a number greater than 0: how long each figure is measured.");
  process.exit(2);
}

const progress = (text: string) => console.error(`${text} ...`);
const place = await openBenchPlace(progress);
try {
  const figures = await measureDeliveries(place, { seconds, progress });
  if (values.json) console.log(JSON.stringify(figures, null, 2));
  else print(figures);
} finally {
  await place.close();
}

function print(figures: Awaited<ReturnType<typeof measureDeliveries>>): void {
  const rows = [
    ["machine", `${cpus().length} x ${cpus()[0]?.model}, node ${process.version}`],
    ["endpoints", String(figures.endpoints)],
    ["deliveries/s, one dispatcher", figures.deliveriesPerSecond.toFixed(0)],
    ["requests/s, bare got loop", figures.bareGotPerSecond.toFixed(0)],
    ["ratio", `${figures.ratio.toFixed(2)} (bar: 0.6)`],
    ["CPU a delivery, dispatcher", `${figures.dispatcherCpuMicroseconds.toFixed(0)} us (bar: 350)`],
    ["CPU a request, bare got loop", `${figures.bareGotCpuMicroseconds.toFixed(0)} us`],
    ["resident memory, dispatcher", `${figures.dispatcherMebibytes.toFixed(0)} MiB (bar: 160)`],
    ["lost / repeated", `${figures.lost} / ${figures.repeated}`],
  ];
  for (const [name, value] of rows) console.log(`${name?.padEnd(32)} ${value}`);
}
