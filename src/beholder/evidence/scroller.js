// A page whose body is as high as the window, with one part that scrolls instead: a person would scroll that
// part, so it is made as high as what it holds ($EXPAND; only where the page itself hardly scrolls). Runs in a
// world of its own. Gives what was made higher, and which other parts show less than they hold.
(async () => {
  const root = document.scrollingElement || document.documentElement;
  if (!root || !document.body) return { expanded: null, inner: [] };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  // What is drawn only near the window (`content-visibility: auto`) is to be drawn wherever it lies.
  let skipped = false;
  for (const [at, e] of [...document.body.querySelectorAll("*")].entries()) {
    if (at > 20000) break;
    if (getComputedStyle(e).contentVisibility !== "auto") continue;
    e.style.setProperty("content-visibility", "visible", "important");
    skipped = true;
  }
  if (skipped) await frame();
  const again = globalThis.expandedByUs;
  const inside = (e) => (e.localName === "iframe" ? frameRoot(e) : e);
  function frameRoot(e) {
    try { return e.contentDocument && e.contentDocument.scrollingElement; } catch (x) { return null; }
  }
  const whole = (e) => inside(e)?.scrollHeight ?? 0;
  const name = (e) => (e.localName + (e.id ? "#" + e.id : "")).slice(0, 60);
  const found = [];
  // The body scrolls apart from the window where its root has an overflow of its own.
  const apart = root !== document.body && getComputedStyle(root).overflowY !== "visible";
  const all = [...(apart ? [document.body] : []), ...document.body.querySelectorAll("*")];
  for (const [at, e] of all.entries()) {
    if (at > 20000) break;
    if (["textarea", "select"].includes(e.localName) || e.clientHeight < 50) continue;
    if (whole(e) - e.clientHeight < 16) continue;
    if (e.localName !== "iframe" && !["auto", "scroll"].includes(getComputedStyle(e).overflowY)) continue;
    if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const box = e.getBoundingClientRect();
    if (box.bottom <= 0 || box.right <= 0 || box.left >= innerWidth) continue;
    found.push(e);
  }
  const fits = (e) => e.clientHeight >= innerHeight / 2 && e.clientWidth >= innerWidth / 2;
  const area = (e) => e.clientWidth * e.clientHeight;
  const saved = new Map();
  const set = (e, rules) => {
    if (!saved.has(e)) saved.set(e, e.getAttribute("style"));
    for (const [key, value] of Object.entries(rules)) e.style.setProperty(key, value, "important");
  };
  const column = (e) => {
    const p = e.parentElement && getComputedStyle(e.parentElement);
    return p && p.display.endsWith("flex") && p.flexDirection.startsWith("column");
  };
  // Parts that are as high as a share of the part that scrolls keep the height they have.
  const hold = (e) => {
    const room = e.clientHeight;
    for (const [at, one] of [...e.querySelectorAll("*")].entries()) {
      if (at > 5000) break;
      const said = one.computedStyleMap();
      const share = (key) => String(said.get(key)).includes("%");
      if (share("height")) set(one, { height: getComputedStyle(one).height });
      const least = said.get("min-height");
      if (one.parentElement === e && least && least.unit === "percent") {
        set(one, { "min-height": (room * least.value) / 100 + "px" });
      }
    }
  };
  // Only heights change: what is sticky or fixed keeps its place, and 100vh stays what it was.
  const grow = (e) => {
    const edges = e.offsetHeight - e.clientHeight;
    set(e, { height: Math.min(whole(e), $MOST) + edges + "px", "max-height": "none" });
    if (getComputedStyle(e).boxSizing === "content-box") {
      const s = getComputedStyle(e);
      const pad = parseFloat(s.paddingTop) + parseFloat(s.paddingBottom);
      set(e, { height: Math.min(whole(e), $MOST) - pad + "px" });
    }
    for (let one = e; one; one = one.parentElement) {
      const s = getComputedStyle(one);
      if (one !== e) {
        set(one, { "min-height": one.offsetHeight + "px", height: "auto", "max-height": "none", overflow: "visible" });
      }
      if (column(one)) set(one, { flex: "0 0 auto" });
      if (s.position === "fixed") set(one, { position: "absolute" });
      if (["fixed", "absolute"].includes(s.position)) set(one, { bottom: "auto" });
      if (s.contain !== "none") set(one, { contain: "none" });
    }
  };
  let expanded = null;
  if (again && again.isConnected) {
    grow(again);
  } else if ($EXPAND) {
    const best = found.filter(fits).sort((a, b) => area(b) - area(a))[0];
    if (best) {
      const shown = best.clientHeight, tall = whole(best), target = inside(best);
      const middle = best.getBoundingClientRect();
      const place = (one) => one.getBoundingClientRect().top + target.scrollTop;
      const seen = [];
      await frame();
      for (let i = 1; i <= $STEPS && i * shown < target.scrollHeight; i++) {
        target.scrollTop = i * shown;
        await frame();
        for (const x of [0.01, 0.5]) {
          const one = document.elementFromPoint(middle.left + middle.width * x, middle.top + middle.height / 2);
          if (i > 2 && one && one !== best && best.contains(one) && place(one) > shown) seen.push([one, place(one)]);
        }
      }
      target.scrollTop = target.scrollHeight;
      await frame();
      await frame();
      target.scrollTop = 0;
      await frame();
      hold(best);
      grow(best);
      await frame();
      const bottom = best.getBoundingClientRect().bottom + scrollY;
      await frame();
      // A list that draws only the rows in view, by a height of its own, would be a few rows and a long blank.
      const there = ([e, y]) => e.isConnected && Math.abs(place(e) - y) < shown;
      const gone = seen.filter((one) => !there(one)).length >= $GONE;
      const filled = Math.max(0, ...[...target.querySelectorAll("*")].slice(0, 20000).filter((e) => !e.firstElementChild)
        .map((e) => e.getBoundingClientRect()).filter((box) => box.height > 0 && box.height < shown)
        .map((box) => box.bottom - best.getBoundingClientRect().top));
      const held = Math.min(whole(best), $MOST) - best.clientHeight <= 2 && root.scrollHeight >= bottom - 2
        && !(gone && filled < Math.min(whole(best), $MOST) / 2);
      if (held) globalThis.expandedByUs = best;
      else for (const [e, style] of saved) style === null ? e.removeAttribute("style") : e.setAttribute("style", style);
      expanded = { what: name(best), shown_px: shown, whole_px: Math.max(tall, whole(best)), held };
    }
  }
  const least = innerWidth * innerHeight * 0.1;
  const inner = found
    .filter((e) => e !== globalThis.expandedByUs && area(e) >= least && whole(e) - e.clientHeight >= 100)
    .map((e) => ({ what: name(e), shown_px: e.clientHeight, whole_px: whole(e) }));
  return { expanded, inner: inner.slice(0, 5) };
})()
