// What stays behind a page while it scrolls: backgrounds fixed to the window, and empty layers as large as the
// window. A person sees them behind every screenful, a capture of the whole page in its first one alone. So
// backgrounds scroll, and layers reach down to the page's end ($MOST px at most). Runs in a world of its own.
// Gives how many were changed.
(() => {
  const root = document.documentElement;
  const tall = Math.min((document.scrollingElement || root).scrollHeight, $MOST);
  if (!document.body || tall <= innerHeight) return 0;
  let changed = 0;
  const covers = (width, height) => width >= innerWidth - 20 && height >= innerHeight - 1 && height < tall;
  const shows = (e) => e.textContent.trim() || e.querySelector("img, svg, canvas, video, iframe, input, button");
  const replaced = ["img", "svg", "canvas", "video", "iframe", "embed", "object", "dialog"];
  const behind = [];
  for (const [at, e] of [root, document.body, ...document.body.querySelectorAll("*")].entries()) {
    if (at > 20000) break;
    const s = getComputedStyle(e);
    if (s.backgroundAttachment.includes("fixed")) {
      e.style.setProperty("background-attachment", "scroll", "important");
      changed++;
    }
    if (s.position === "fixed" && !replaced.includes(e.localName) && !shows(e)) {
      const box = e.getBoundingClientRect();
      if (box.top <= 0 && box.left <= 0 && covers(box.width, box.height)) {
        for (const [name, value] of [["height", `${tall}px`], ["max-height", "none"], ["bottom", "auto"]]) {
          e.style.setProperty(name, value, "important");
        }
        changed++;
      }
    }
    if (at > 500) continue;
    for (const which of ["before", "after"]) {
      const p = getComputedStyle(e, "::" + which);
      if (["none", "normal"].includes(p.content)) continue;
      const fixed = p.position === "fixed" && covers(parseFloat(p.width), parseFloat(p.height));
      if (!fixed && !p.backgroundAttachment.includes("fixed")) continue;
      e.setAttribute(`data-behind-${which}`, "");
      behind.push(`[data-behind-${which}]::${which} { background-attachment: scroll !important }`);
      if (fixed) {
        behind.push(`[data-behind-${which}]::${which} { height: ${tall}px !important; max-height: none !important; bottom: auto !important }`);
      }
      changed++;
    }
  }
  if (behind.length) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync([...new Set(behind)].join("\n"));
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  return changed;
})()
