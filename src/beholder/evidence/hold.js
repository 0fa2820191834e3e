// Hold the page by one more step, or after the second let it go ($HOLD, `init.js`). $TELL: it is told where it stands.
(() => {
  dispatchEvent(new Event($HOLD));
  if ($TELL) document.dispatchEvent(new Event("scroll", { bubbles: true }));
})()
