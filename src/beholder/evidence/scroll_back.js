// Back to the top. Gives how many of the places that `scroll.js` looked at show something else now: a list that keeps
// only the rows in view does that.
(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const step = Math.max(200, innerHeight);
  scrollTo({ top: 0, left: 0, behavior: "instant" });
  await frame();
  const there = ([e, top]) => e.isConnected && Math.abs(e.getBoundingClientRect().top + scrollY - top) < 2 * step;
  return (globalThis.seenByUs || []).filter((one) => !there(one)).length;
})()
