/**
 * The translation of Chrome and Edge puts a <font> in the place of each text. React goes on with the text: it would write unseen, and fail to
 * insert or remove something there. So a text comes back before it is touched, and the browser translates it again.
 */
export function surviveTranslation(): void {
  const inPlaceOf = new WeakMap<Node, Element>();
  const bringBack = (text: Node | null): void => {
    const element = text ? inPlaceOf.get(text) : undefined;
    if (text && element?.isConnected) element.replaceWith(text);
  };
  const written = new MutationObserver((records) => {
    for (const { target } of records) bringBack(target);
  });
  const replaced = new MutationObserver((records) => {
    for (const { removedNodes, addedNodes, previousSibling } of records) {
      const [text, element = previousSibling] = [removedNodes[0], addedNodes[0]];
      if (!(text instanceof Text && element instanceof Element && element.tagName === "FONT")) continue;
      inPlaceOf.set(text, element);
      written.observe(text, { characterData: true });
    }
  });
  replaced.observe(document.body, { childList: true, subtree: true });

  const { insertBefore, removeChild } = Node.prototype;
  Node.prototype.insertBefore = function <T extends Node>(this: Node, node: T, before: Node | null) {
    bringBack(node);
    bringBack(before);
    return insertBefore.call(this, node, before) as T;
  };
  Node.prototype.removeChild = function <T extends Node>(this: Node, node: T) {
    bringBack(node);
    return removeChild.call(this, node) as T;
  };
}
