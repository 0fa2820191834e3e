// From step $FROM down to the end, one viewport a frame and at most $STEPS of them in all, so that what loads when
// it comes into view is asked for; it stays there, for what a page adds once its end is in view. Page time stands;
// frames do not. Runs in a world of its own, whose frames the page has not touched, and remembers what lies at
// some places for `scroll_back.js`. Gives the steps so far, whether the end was reached, and the page's height.
(async () => {
  const root = document.scrollingElement || document.documentElement;
  if (!root) return { ended: true, steps: 0, height: 0 };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const step = Math.max(200, innerHeight);
  const seen = (globalThis.seenByUs = $FROM ? globalThis.seenByUs || [] : []);
  const look = (x) => {
    const found = document.elementFromPoint(innerWidth * x, innerHeight / 2);
    if (!found || found === root || found === document.body || seen.some((one) => one[0] === found)) return;
    for (let e = found; e; e = e.parentElement) {
      if (["fixed", "sticky"].includes(getComputedStyle(e).position)) return;
    }
    seen.push([found, found.getBoundingClientRect().top + scrollY]);
  };
  let ended = true, steps = $FROM;
  // From within a frame on: what is scrolled to before one would be scrolled away again before it is drawn.
  await frame();
  for (let y = (steps + 1) * step; y < root.scrollHeight; y += step) {
    if (steps >= $STEPS) { ended = false; break; }
    steps++;
    scrollTo({ top: y, behavior: "instant" });
    await frame();
    if (y > 2 * step && seen.length < 30) for (const x of [0.01, 0.25, 0.5]) look(x);
  }
  const height = root.scrollHeight;
  scrollTo({ top: height, behavior: "instant" });
  await frame();
  await frame();
  return { ended, steps, height };
})()
