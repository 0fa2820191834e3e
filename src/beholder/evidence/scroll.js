// To the end and back, one viewport a frame and at most $STEPS of them, so that what loads when it comes into
// view is asked for. A page that grows meanwhile is followed no further. Page time stands; frames do not.
// Runs in a world of its own, whose frames the page has not touched.
(async () => {
  const root = document.scrollingElement || document.documentElement;
  if (!root) return;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const step = Math.max(200, innerHeight);
  for (let i = 1, y = step; i <= $STEPS && y < root.scrollHeight; i++, y += step) {
    scrollTo({ top: y, behavior: "instant" });
    await frame();
  }
  scrollTo({ top: root.scrollHeight, behavior: "instant" });
  await frame();
  await frame();
  scrollTo({ top: 0, left: 0, behavior: "instant" });
  await frame();
})()
