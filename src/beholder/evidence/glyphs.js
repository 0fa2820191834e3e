// Which characters of the page's text come out as the box that stands for a missing one, at most 20 of them:
// drawn in the font of the element they stand in, they look like a code point that no font has. Latin is not
// looked at, nor what has no look of its own. Runs in a world of its own.
(() => {
  const seen = new Map();
  const text = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  const skipped = new Set(["script", "style", "noscript", "template", "title", "textarea"]);
  for (let node; (node = text.nextNode()) && seen.size < $MOST; ) {
    const parent = node.parentElement;
    if (!parent || skipped.has(parent.localName) || !/[^\0-\u024f]/.test(node.nodeValue)) continue;
    for (const one of node.nodeValue) {
      if (one <= "\u024f" || seen.has(one) || /[\p{Z}\p{M}\p{Cc}\p{Cf}\p{Cs}]/u.test(one)) continue;
      if (parent.checkVisibility()) seen.set(one, parent);
    }
  }
  if (!seen.size) return [];
  const side = 32;
  const pen = new OffscreenCanvas(side, side).getContext("2d", { willReadFrequently: true });
  const drawn = (one) => {
    pen.clearRect(0, 0, side, side);
    pen.fillText(one, 6, 22);
    return new Uint32Array(pen.getImageData(0, 0, side, side).data.buffer);
  };
  const boxes = new Map(), found = [];
  for (const [one, parent] of seen) {
    pen.font = `16px ${getComputedStyle(parent).fontFamily}`;
    if (!boxes.has(pen.font)) boxes.set(pen.font, drawn("\u{10ffff}"));
    const box = boxes.get(pen.font);
    if (drawn(one).every((pixel, at) => pixel === box[at]) && found.push(one) >= 20) break;
  }
  return found;
})()
