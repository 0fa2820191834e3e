// ---- the gallery: some dozens of cards at a time -----------------------------------------------

const gallery = byId("gallery");
const CHUNK = 48;
const PRINTED = 300;
let shown = []; // items, or pairs side by side
let drawn = 0;
const sideBySide = () => valueOf("view") === "pairs";

function scoreOf(item) {
  return none(item.value)
    ? el("b", { className: "muted" }, "–")
    : [el("b", {}, item.score), item.of ? el("span", { className: "muted" }, ` / ${item.of}`) : ""];
}

function thumb(item) {
  const picture = item.thumb
    ? el("img", { loading: "lazy", decoding: "async", src: item.thumb, alt: "" })
    : el("span", { className: "no-picture" }, icon(item.videos ? "video" : item.state), el("span", {}, noPicture(item)));
  return el("span", { className: "thumb" }, picture,
    item.pictures > 1 ? el("span", { className: "more" }, `${item.pictures} images`) : "");
}

function noPicture(item) {
  if (item.reason) return page.codes.reasons[item.reason] || item.reason;
  if (item.videos) return plural(item.videos, "video");
  return item.route === "text" ? "judged on text" : "no picture";
}

function tags(item) {
  const list = [
    ...(item.warnings || []).map((code) => ["warning", page.codes.warnings[code] || code]),
    ...(item.flags || []).map((code) => ["flag", code.replaceAll("_", " ")]),
  ];
  return list.length ? el("span", { className: "tags" }, list.map(([name, text]) =>
    el("span", { className: "tag" }, icon(name), untrusted(text)))) : "";
}

const shortened = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
const labelsOf = (item, most) => (item.labels || []).filter(Boolean).slice(0, most).map(shortened).join(" · ");

// The model where there are several; side by side it is the card's name, and the labels head the row.
function subtitle(item) {
  if (sideBySide()) return "";
  return page.models.length > 1 ? page.models[item.model] : labelsOf(item, 3);
}

function face(item, under) {
  return [
    thumb(item),
    el("span", { className: "body" },
      el("span", { className: "line" }, under, chip(item.state)),
      el("span", { className: "line" },
        untrusted(subtitle(item), "span", "muted of"),
        el("span", { className: "score" }, scoreOf(item))),
      item.repeats ? el("span", { className: "repeats muted" },
        el("span", { className: "quiet" }, "repeats: "), item.repeats.join(" · ")) : "",
      item.thumb && item.reason ? el("span", { className: "why" }, page.codes.reasons[item.reason] || item.reason) : "",
      tags(item)),
  ];
}

function card(item) {
  return el("li", { className: `card ${item.state}`, "data-index": item.index },
    el("a", { href: address(item) }, face(item, untrusted(item.task, "span", "name"))));
}

function pairRow(pair) {
  const [first, second] = [Number(valueOf("compare-a")), Number(valueOf("compare-b"))];
  const one = pair.a || pair.b;
  const gone = (model) => el("span", { className: "card gone-card" },
    el("span", { className: "no-picture" }, icon("absent"), el("span", {}, "not among this model's tasks")),
    el("span", { className: "body" }, untrusted(page.models[model], "span", "muted")));
  const side = (item, model, other) => (item
    ? el("a", { className: `card ${item.state}`, href: address(item, other) }, face(item, untrusted(page.models[model], "span", "name")))
    : gone(model));
  return el("li", { className: `pair-row${pair.flips ? " flips" : ""}`, "data-index": one.index },
    el("div", { className: "pair-head" },
      untrusted(one.task, "b"),
      untrusted(labelsOf(one, 4), "span", "muted"),
      difference(pair.difference, pair.flips, pair)),
    side(pair.a, first, second), side(pair.b, second, first));
}

// `+3.5`, `−20`, `0`: no decimals where none count.
function signed(value, digits = page.digits) {
  const size = Math.abs(value).toLocaleString("en", { maximumFractionDigits: digits, useGrouping: false });
  return value === 0 ? "0" : `${value > 0 ? "+" : "−"}${size === "0" ? Math.abs(value).toPrecision(1) : size}`;
}

function difference(value, flips, pair) {
  const missing = [pair.a, pair.b].find((item) => item && none(item.value));
  const why = missing ? page.states[missing.state].toLowerCase() : "missing";
  return el("span", { className: "difference" },
    flips ? el("span", { className: "chip flip" }, icon("flip"), "verdict flips") : "",
    value === null ? el("span", { className: "muted" }, `no difference: ${why}`)
      : el("b", { className: value > 0 ? "up" : value < 0 ? "down" : "" }, signed(value)));
}

function drawMore(count = CHUNK) {
  const next = shown.slice(drawn, drawn + count);
  gallery.append(...next.map(sideBySide() ? pairRow : card));
  drawn += next.length;
  const left = shown.length - drawn;
  byId("more").hidden = left === 0;
  byId("more").textContent = `Show more (${left.toLocaleString("en")} left)`;
}

function refresh() {
  const want = asked();
  const pairs = sideBySide();
  for (const node of document.querySelectorAll("[data-only]")) node.hidden = (node.dataset.only === "pairs") !== pairs;
  gallery.classList.toggle("pairs", pairs);
  if (pairs) {
    shown = pairUp(Number(valueOf("compare-a")), Number(valueOf("compare-b")), want);
    shown.sort(PAIR_ORDERS[valueOf("sort-pairs")]);
  } else {
    shown = items.filter((item) => matches(item, want)).sort(ORDERS[valueOf("sort")]);
  }
  drawn = 0;
  gallery.replaceChildren();
  drawMore();
  countFolded();
  const all = pairs ? byTask.size : items.length;
  const noun = pairs ? "task" : "item";
  const searching = want.find.length && !words.done;
  byId("shown").textContent = (shown.length === all ? plural(all, noun) : `${shown.length.toLocaleString("en")} of ${plural(all, noun)}`)
    + (searching ? ", searching …" : "");
  byId("nothing").hidden = shown.length > 0 || Boolean(searching);
  if (searching) unpackWords().then(refresh);
}

function reset() {
  tools.reset();
  refresh();
  byId("find").focus();
}

// The card of an item, drawn if it is not yet; null if it is filtered out or very far down.
function cardOf(index) {
  const find = () => gallery.querySelector(`[data-index="${index}"]`);
  const place = shown.findIndex((one) => (sideBySide() ? (one.a || one.b).index : one.index) === index);
  if (place >= drawn && place < drawn + 600) drawMore(place - drawn + CHUNK);
  return find();
}

const nearEnd = new IntersectionObserver((entries) => {
  // Again and again while the end is in sight: a tall window takes several chunks.
  if (entries.some((entry) => entry.isIntersecting) && drawn < shown.length) {
    drawMore();
    nearEnd.unobserve(byId("more"));
    nearEnd.observe(byId("more"));
  }
}, { rootMargin: "600px" });
