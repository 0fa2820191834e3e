// ---- the zoom ----------------------------------------------------------------------------------

const zoomDialog = byId("zoom");
const STEPS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6];
const PAN_PX = 80;

function zoom(item, first) {
  let position = first;
  let factor = null; // null: as large as the window allows
  let dragged = false;
  const image = el("img", { draggable: false });
  const stage = el("div", { className: "stage", tabIndex: 0, role: "region", "aria-label": "Picture; arrow keys move it" }, image);
  const label = el("span", { className: "u caption" });
  const level = el("output", {});
  const sign = (text, title, act) => {
    const symbol = text.length === 1; // a word or a ratio names itself
    const made = el("button", { type: "button", title, "aria-label": symbol && title }, text);
    made.addEventListener("click", act);
    return made;
  };

  const fitting = () => Math.min(1, stage.clientWidth / image.naturalWidth, stage.clientHeight / image.naturalHeight);

  function draw() {
    const now = factor ?? fitting();
    if (!Number.isFinite(now)) return; // not loaded yet: its load event draws
    image.style.width = `${image.naturalWidth * now}px`;
    level.textContent = `${Math.round(100 * now)}%`;
    stage.classList.toggle("fits", factor === null);
  }

  function load(next) {
    if (!item.pictures[next] || item.pictures[next].url === null) return;
    position = next;
    factor = null;
    const picture = item.pictures[position];
    image.alt = picture.caption;
    image.src = picture.url;
    label.textContent = picture.caption;
    stage.scrollTo(0, 0);
    draw();
  }

  // Keeps the point (x, y) of the stage where it is; its middle unless told.
  function scaleTo(next, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const before = factor ?? fitting();
    factor = next;
    const [left, top] = [stage.scrollLeft + x, stage.scrollTop + y];
    draw();
    stage.scrollTo(left * next / before - x, top * next / before - y);
  }

  const current = () => factor ?? fitting();
  const larger = (x, y) => scaleTo(STEPS.find((one) => one > current() + 0.001) ?? STEPS.at(-1), x, y);
  const smaller = (x, y) => scaleTo(STEPS.findLast((one) => one < current() - 0.001) ?? STEPS[0], x, y);
  const fit = () => { factor = null; draw(); };
  const full = () => scaleTo(1);
  const pan = (x, y) => () => stage.scrollBy(x * PAN_PX, y * PAN_PX);
  const KEYS = {
    "+": () => larger(), "=": () => larger(), "-": () => smaller(), "0": fit, "1": full,
    PageDown: () => load(position + 1), PageUp: () => load(position - 1),
    ArrowLeft: pan(-1, 0), ArrowRight: pan(1, 0), ArrowUp: pan(0, -1), ArrowDown: pan(0, 1),
  };

  image.addEventListener("load", draw);
  image.addEventListener("click", () => {
    if (!dragged) (factor === null && fitting() < 1 ? full() : fit());
  });
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // as a trackpad's pinch arrives
    event.preventDefault();
    const box = stage.getBoundingClientRect();
    (event.deltaY < 0 ? larger : smaller)(event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  stage.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.pointerType !== "mouse" || event.button !== 0) return; // a finger scrolls by itself
    const [x, y, left, top] = [event.clientX, event.clientY, stage.scrollLeft, stage.scrollTop];
    const move = (now) => {
      dragged ||= Math.abs(now.clientX - x) + Math.abs(now.clientY - y) > 4;
      if (dragged) stage.scrollTo(left + x - now.clientX, top + y - now.clientY);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", () => window.removeEventListener("pointermove", move), { once: true });
  });

  const many = item.pictures.length > 1;
  zoomDialog.replaceChildren(
    el("header", {}, label,
      el("nav", { "aria-label": "Zoom" },
        many ? sign("‹", "Previous image (Page Up)", KEYS.PageUp) : "",
        many ? sign("›", "Next image (Page Down)", KEYS.PageDown) : "",
        sign("−", "Smaller (-)", KEYS["-"]), level, sign("+", "Larger (+)", KEYS["+"]),
        sign("Fit", "Fit the window (0)", fit), sign("1:1", "Full size (1)", full),
        button("step", "Close (Esc)", "close", () => zoomDialog.close()))),
    stage);
  zoomDialog.onkeydown = (event) => {
    const act = KEYS[event.key];
    if (!act || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  };
  window.onresize = draw;
  zoomDialog.showModal();
  load(position);
  stage.focus();
}
