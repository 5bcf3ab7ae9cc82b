/** Replaces several generated blocks of a document. */
export function withBlocks(text: string, blocks: Record<string, string>): string {
  return Object.entries(blocks).reduce((page, [name, block]) => withBlock(page, name, block), text);
}

/**
 * Replaces the generated block of a hand-written document.
 *
 * @param name as in the comments around the block, `<!-- generated: reasons -->` and `<!-- end of reasons -->`
 */
export function withBlock(text: string, name: string, block: string): string {
  const [begin, end] = [`<!-- generated: ${name} -->\n`, `\n<!-- end of ${name} -->`];
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`The document has no block between ${begin.trim()} and ${end.trim()}.`);
  return `${before}${begin}${block}${end}${after}`;
}
