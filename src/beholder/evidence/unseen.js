// How many parts of the page are in it, large enough to be read, and fully transparent, once the
// transitions that run have ended. Runs in a world of its own.
(() => {
  for (const animation of document.getAnimations()) {
    const timing = animation.effect && animation.effect.getComputedTiming();
    try { if (animation instanceof CSSTransition && timing.endTime < 60000) animation.finish(); } catch (e) { /* stays */ }
  }
  let count = 0;
  for (const [at, e] of document.body ? [...document.body.querySelectorAll("*")].entries() : []) {
    if (at > 20000) break;
    const s = getComputedStyle(e);
    if (s.visibility !== "hidden" && parseFloat(s.opacity) > 0.02) continue;
    if (s.position === "fixed" || e.parentElement?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) === false) continue;
    const box = e.getBoundingClientRect();
    if (box.width < 100 || box.height < 20 || box.right <= 0 || box.left >= innerWidth) continue;
    count++;
  }
  return count;
})()
