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
  for (const media of document.querySelectorAll("video, audio")) media.pause();
  const active = document.activeElement;
  if (active && active !== document.body && active.blur) active.blur();
  scrollTo({ top: 0, left: 0, behavior: "instant" });
  return held;
})()
