// To the end and back, one viewport a frame and at most $STEPS of them, so that what loads when it comes into
// view is asked for. A page that grows meanwhile is followed no further. Page time stands; frames do not.
// Runs in a world of its own, whose frames the page has not touched. Gives whether the end was reached, and how
// many of the places looked at show something else now: a list that keeps only the rows in view does that.
(async () => {
  const root = document.scrollingElement || document.documentElement;
  if (!root) return { ended: true, gone: 0, seen: 0 };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const step = Math.max(200, innerHeight);
  const seen = [];
  const look = (x) => {
    const found = document.elementFromPoint(innerWidth * x, innerHeight / 2);
    if (!found || found === root || found === document.body || seen.some((one) => one[0] === found)) return;
    for (let e = found; e; e = e.parentElement) {
      if (["fixed", "sticky"].includes(getComputedStyle(e).position)) return;
    }
    seen.push([found, found.getBoundingClientRect().top + scrollY]);
  };
  let ended = true;
  for (let i = 1, y = step; y < root.scrollHeight; i++, y += step) {
    if (i > $STEPS) { ended = false; break; }
    scrollTo({ top: y, behavior: "instant" });
    await frame();
    if (y > 2 * step && seen.length < 30) for (const x of [0.01, 0.25, 0.5]) look(x);
  }
  scrollTo({ top: root.scrollHeight, behavior: "instant" });
  await frame();
  await frame();
  scrollTo({ top: 0, left: 0, behavior: "instant" });
  await frame();
  const there = ([e, top]) => e.isConnected && Math.abs(e.getBoundingClientRect().top + scrollY - top) < 2 * step;
  return { ended, gone: seen.filter((one) => !there(one)).length, seen: seen.length };
})()
