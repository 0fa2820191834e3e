// To the end and back, so that what loads when it comes into view is loaded. At most `steps` steps of one
// viewport; a page that grows while it is scrolled is followed no further. Gives the height at the end.
(async (steps) => {
  const root = document.scrollingElement || document.documentElement;
  if (!root) return 0;
  const step = Math.max(200, innerHeight);
  // A frame, then a task: observers have been called and what they asked for has been sent.
  const settled = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)));
  for (let i = 1, y = step; i <= steps && y < root.scrollHeight; i++, y += step) {
    scrollTo({ top: y, behavior: "instant" });
    await settled();
  }
  scrollTo({ top: root.scrollHeight, behavior: "instant" });
  await settled();
  scrollTo({ top: 0, left: 0, behavior: "instant" });
  await settled();
  return root.scrollHeight;
})($STEPS)
