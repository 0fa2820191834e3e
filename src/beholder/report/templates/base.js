// The page is whole without this script but for the items; it adds their gallery, their stories and the zoom.
// Text from tasks, files and judges goes through textContent and attributes only, never through markup.
// The files templates/*.js are joined into one script (report/html.py).

const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key in node && key !== "list") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

const chip = (state) => el("span", { className: `chip ${state}` }, icon(state), page.states[state] || state);

const untrusted = (text, tag = "span", className = "") => el(tag, { className: `u ${className}`.trim() }, text);

const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function button(className, title, name, act) {
  const made = el("button", { type: "button", className, "aria-label": title, title }, icon(name));
  made.addEventListener("click", act);
  return made;
}
