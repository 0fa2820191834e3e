// How large a drawing is, and the size it is drawn at. Runs in a world of its own, in an SVG document.
// $WIDTH x $HEIGHT is the viewport, $MOST the longest edge drawn, $LEAST the longest edge of a tiny drawing.
(() => {
  const root = document.documentElement;
  if (!(root instanceof SVGSVGElement)) {
    const error = document.querySelector("parsererror");
    return { error: error ? error.textContent : "", root: root.localName };
  }
  const style = getComputedStyle(root);
  // A size in per cent, of the viewport or of nothing says how large the window is, not the drawing.
  const own = (name) => {
    const said = root.style[name];
    const type = root[name].baseVal.unitType;
    const definite = said ? !/%|v[wh]|auto|fit|content/.test(said) : root.hasAttribute(name) && type > 0 && type !== 2;
    const px = parseFloat(style[name]);
    return definite && px > 0 && Number.isFinite(px) ? px : 0;
  };
  let width = own("width"), height = own("height"), by = "width and height", enlarge = false;
  const view = root.viewBox.baseVal;
  const hasView = view && view.width > 0 && view.height > 0;
  if (!(width && height) && hasView) {
    enlarge = !width && !height;
    by = "viewBox";
    const ratio = view.width / view.height;
    if (enlarge) { width = view.width; height = view.height; }
    else if (width) height = width / ratio;
    else width = height * ratio;
  } else if (!(width && height)) {
    by = "bounding box";
    let box = { x: 0, y: 0, width: 0, height: 0 }, pad = 0;
    try { box = root.getBBox(); } catch (e) { /* nothing is drawn */ }
    // The box is that of the shapes; half of a stroke lies outside of it.
    for (const [at, shape] of [...root.querySelectorAll("*")].entries()) {
      if (at > 5000) break;
      const s = getComputedStyle(shape);
      if (s.stroke !== "none") pad = Math.max(pad, (parseFloat(s.strokeWidth) || 0) / 2);
    }
    const end = (from, length) => (length >= 0 && Number.isFinite(from + length) ? from + length + pad : 0);
    width = width || end(box.x, box.width);
    height = height || end(box.y, box.height);
  }
  if (!(width > 0 && height > 0)) { width = $WIDTH; height = $HEIGHT; by = "viewport"; }
  const longest = Math.max(width, height);
  let scale = Math.min(1, $MOST / longest);
  if (enlarge) scale = Math.max(scale, Math.min($WIDTH / width, $HEIGHT / height));
  else if (longest < $LEAST && by !== "viewport") scale = $LEAST / longest;
  if (scale !== 1 && !hasView) root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const px = (length) => Math.max(1, Math.round(length * scale));
  const set = (name, value) => root.style.setProperty(name, value, "important");
  set("width", px(width) + "px");
  set("height", px(height) + "px");
  for (const name of ["min-width", "min-height"]) set(name, "0");
  for (const name of ["max-width", "max-height"]) set(name, "none");
  set("margin", "0");
  set("box-sizing", "border-box");
  return { width, height, by, scale, drawn: [px(width), px(height)] };
})()
