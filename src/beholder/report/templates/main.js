// ---- wiring ------------------------------------------------------------------------------------

const query = () => new URLSearchParams(location.hash.slice(1));

function itemOfAddress() {
  const pairs = query();
  if (!pairs.has("task")) return null;
  return byAddress.get(params([["task", pairs.get("task")], ["model", pairs.get("model") ?? page.models[0]]])) || null;
}

function route() {
  const item = itemOfAddress();
  if (item) {
    showItem(item, query().get("with"));
    return;
  }
  if (itemDialog.open) itemDialog.close();
  if (query().has("show")) {
    setFilters(query());
    refresh();
    byId("items").scrollIntoView();
    byId("find").focus({ preventScroll: true });
  }
}

// Filtering waits for a pause in typing, so that every key is taken at once.
let pause = null;
tools.addEventListener("submit", (event) => event.preventDefault());
tools.addEventListener("input", (event) => {
  clearTimeout(pause);
  if (event.target.type === "search" || event.target.type === "number") pause = setTimeout(refresh, 90);
  else refresh();
});
byId("reset").addEventListener("click", reset);
byId("more").addEventListener("click", () => {
  const first = drawn;
  drawMore();
  const next = gallery.children[first];
  if (next) next.querySelector("a").focus();
});
document.addEventListener("click", (event) => {
  const sheet = byId("sheet");
  if (sheet.open && !sheet.contains(event.target)) sheet.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && byId("sheet").open) {
    byId("sheet").open = false;
    byId("sheet").querySelector("summary").focus();
  }
  if (event.key !== "/" || itemDialog.open || event.target.closest("input, select")) return;
  event.preventDefault();
  byId("find").focus();
});

// A dot of a plot tells its task and leads there. Keys find the same items in the gallery.
for (const plot of document.querySelectorAll("svg.plot")) {
  const point = (event) => event.target.closest(".point");
  const target = (node) => node.dataset.item.split(":").map(Number);
  plot.addEventListener("pointerover", (event) => {
    const node = point(event);
    if (!node || node.querySelector("title")) return;
    const [index, other] = target(node);
    const item = items[index];
    const second = other === undefined ? null : byTask.get(item.at)[other];
    const title = document.createElementNS(SVG, "title");
    title.textContent = `${item.task} · ${page.models[item.model]} ${item.score}${second ? ` · ${page.models[other]} ${second.score}` : ""}`;
    node.append(title);
  });
  plot.addEventListener("click", (event) => {
    const node = point(event);
    if (!node) return;
    const [index, other] = target(node);
    location.hash = address(items[index], other ?? null);
  });
}

// The worst disagreements lead to their items; without scripts, to the picture.
const named = new Map(items.map((item) => [`${item.model} ${item.task}`, item]));
for (const line of document.querySelectorAll(".apart li")) {
  const item = named.get(`${line.dataset.model} ${line.dataset.task}`);
  if (!item) continue;
  line.querySelector("a").href = address(item);
}

window.addEventListener("beforeprint", () => {
  if (!itemDialog.open && drawn < PRINTED) drawMore(PRINTED - drawn);
});
window.addEventListener("hashchange", route);
tools.hidden = false;
byId("no-script").hidden = true;
refresh(); // a browser may bring the form back as it was left
nearEnd.observe(byId("more"));
route();
// Words are ready before the first search, if the browser has nothing better to do.
(window.requestIdleCallback || setTimeout)(() => { unpackWords(); });
