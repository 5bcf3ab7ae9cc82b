const FAMILY = /^(?=# HELP )/m;

/**
 * Several registries' metrics as one text in Prometheus's format. A metric that more than one of them has stands once, with
 * the series of each: the format allows no metric twice. Its description is that of the first.
 */
export function joinMetrics(texts: readonly string[]): string {
  const families = new Map<string, string[]>();
  for (const family of texts.flatMap((text) => text.split(FAMILY))) {
    const [help = "", type = "", ...series] = family.trim().split("\n");
    const name = help.split(" ")[2];
    if (name === undefined) continue;
    const known = families.get(name);
    if (known) known.push(...series);
    else families.set(name, [help, type, ...series]);
  }
  return `${[...families.values()].map((lines) => lines.join("\n")).join("\n\n")}\n`;
}
