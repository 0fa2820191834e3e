// Hold everything that moves by itself: finished animations at their end, endless ones at a fixed time.
(() => {
  let held = 0;
  for (const animation of document.getAnimations ? document.getAnimations() : []) {
    try {
      const timing = animation.effect && animation.effect.getComputedTiming();
      if (timing && timing.endTime === Infinity) { animation.pause(); animation.currentTime = $AT_MS; held++; }
      else animation.finish();
    } catch (e) { /* an animation without a timeline or of negative speed stays as it is */ }
  }
  // SVG's own animations stand at their start in this browser. What has ended by then and stays so is set for good.
  const offset = (text) => {
    const found = /^([+-]?)\s*(\d+(?:\.\d+)?|\.\d+)(ms|s|min|h)?$/.exec(text.trim());
    const unit = { ms: 1, s: 1000, min: 60000, h: 3600000 };
    return found ? (found[1] === "-" ? -1 : 1) * parseFloat(found[2]) * unit[found[3] || "s"] : NaN;
  };
  const least = (times) => Math.min(...times.filter(Number.isFinite), Infinity);
  const begins = new Map();
  const begin = (e) => {
    if (begins.has(e) || begins.size > 5000) return begins.get(e) ?? NaN;
    begins.set(e, NaN); // for those that wait for each other
    begins.set(e, least((e.getAttribute("begin") || "0s").split(";").slice(0, 20).map((text) => {
      const after = /^\s*([\w-]+)\.(begin|end)\s*([+-].*)?$/.exec(text);
      if (!after) return offset(text);
      const other = document.getElementById(after[1]);
      return other ? (after[2] === "end" ? end : begin)(other) + (after[3] ? offset(after[3]) : 0) : NaN;
    })));
    return begins.get(e);
  };
  const end = (e) => {
    const once = offset(e.getAttribute("dur") || "");
    const all = [offset(e.getAttribute("repeatDur") || ""), once * parseFloat(e.getAttribute("repeatCount") || 1)];
    if (e.getAttribute("repeatCount") === "indefinite") all.pop();
    return begin(e) + (e.localName === "set" && !(once > 0) ? 0 : least(all));
  };
  try {
    const ended = [...document.querySelectorAll("animate, set, animateTransform")].slice(0, 5000)
      .filter((e) => e.getAttribute("fill") === "freeze" || (e.localName === "set" && !e.hasAttribute("dur")))
      .map((e) => [end(e), e]).filter(([at]) => at <= $AT_MS).sort((a, b) => a[0] - b[0]);
    for (const [, e] of ended) {
      const target = e.targetElement, name = e.getAttribute("attributeName");
      const values = (e.getAttribute("values") || e.getAttribute("to") || "").split(";").map((one) => one.trim());
      const value = values.filter(Boolean).pop();
      if (!target || !name || value === undefined || /^on|href$/i.test(name)) continue;
      try {
        if (e.localName === "animateTransform") {
          const base = e.getAttribute("additive") === "sum" ? target.getAttribute("transform") || "" : "";
          target.setAttribute("transform", `${base} ${e.getAttribute("type") || "translate"}(${value})`.trim());
        } else {
          target.setAttribute(name, value);
          if (target.style) target.style.setProperty(name, value, "important");
        }
        e.remove();
      } catch (x) { /* a name that is none */ }
    }
  } catch (e) { /* a chain of thousands that wait for each other */ }
  for (const media of document.querySelectorAll("video, audio")) media.pause();
  const active = document.activeElement;
  if (active && active !== document.body && active.blur) active.blur();
  scrollTo({ top: 0, left: 0, behavior: "instant" });
  return held;
})()
