// ---- which items, in which order ---------------------------------------------------------------

const tools = byId("tools");
const field = (id) => byId(id);
const valueOf = (id) => (byId(id) ? byId(id).value : "");
const labelFields = () => [...tools.querySelectorAll("select[data-label]")];

// What is asked for, read from the form once per change.
function asked() {
  const bound = (id) => (valueOf(id) === "" ? null : Number(valueOf(id)));
  return {
    find: valueOf("find").toLowerCase().split(/\s+/).filter(Boolean),
    model: valueOf("by-model"),
    states: new Set([...tools.querySelectorAll("[name=state]:checked")].map((box) => box.value)),
    labels: labelFields().filter((one) => one.value !== "").map((one) => [Number(one.dataset.label), one.value.slice(1)]),
    reason: valueOf("by-reason"),
    mark: valueOf("by-mark"),
    low: bound("score-low"),
    high: bound("score-high"),
  };
}

function matches(item, want, ignoreModel = false) {
  if (!want.states.has(item.state)) return false;
  if (!ignoreModel && want.model !== "" && item.model !== Number(want.model)) return false;
  if (want.reason !== "" && item.reason !== want.reason) return false;
  if (want.mark !== "" && !(item.flags || []).concat(item.warnings || []).includes(want.mark)) return false;
  if (want.low !== null && !(item.value >= want.low && item.value !== null)) return false;
  if (want.high !== null && !(item.value <= want.high && item.value !== null)) return false;
  if (!want.labels.every(([at, value]) => ((item.labels || [])[at] ?? "") === value)) return false;
  return want.find.every((word) => cardText[item.index].includes(word)
    || (words.texts[item.index] || "").includes(word));
}

// What has no score stands last in either direction: it is neither low nor high.
const none = (value) => value === null || value === undefined;
const by = (read, sign) => (a, b) =>
  none(read(a)) - none(read(b)) || sign * ((read(a) ?? 0) - (read(b) ?? 0)) || a.at - b.at || a.model - b.model;
const ORDERS = {
  task: (a, b) => a.at - b.at || a.model - b.model,
  model: (a, b) => a.model - b.model || a.at - b.at,
  low: by((item) => item.value, 1),
  high: by((item) => item.value, -1),
  spread: by((item) => item.spread, -1),
};

// Two models on one task. `difference` is second less first, null where either has no score.
function pairUp(first, second, want) {
  const pairs = [];
  for (const [at, models] of byTask) {
    const [a, b] = [models[first] || null, models[second] || null];
    const there = [a, b].filter(Boolean);
    if (!there.length || !there.some((item) => matches(item, want, true))) continue;
    const known = a && b && !none(a.value) && !none(b.value);
    const verdicts = there.map((item) => item.state === "passed");
    const judged = a && b && [a, b].every((item) => item.state !== "unscored" && item.state !== "scored");
    pairs.push({
      at, a, b,
      difference: known ? b.value - a.value : null,
      flips: Boolean(judged && verdicts[0] !== verdicts[1]),
    });
  }
  return pairs;
}

const size = (pair) => (pair.difference === null ? -1 : Math.abs(pair.difference));
const PAIR_ORDERS = {
  difference: (a, b) => b.flips - a.flips || size(b) - size(a) || a.at - b.at,
  task: (a, b) => a.at - b.at,
  gain: (a, b) => none(a.difference) - none(b.difference) || (b.difference ?? 0) - (a.difference ?? 0) || a.at - b.at,
  loss: (a, b) => none(a.difference) - none(b.difference) || (a.difference ?? 0) - (b.difference ?? 0) || a.at - b.at,
};

// Links such as `#show&model=0&reason=missing` set the form.
function setFilters(query) {
  tools.reset();
  for (const [key, value] of query) {
    if (key === "model") field("by-model") && (field("by-model").value = value);
    else if (key === "reason") field("by-reason").value = value;
    else if (key === "state") tools.querySelectorAll("[name=state]").forEach((box) => { box.checked = box.value === value; });
    else if (key === "label") {
      const [at, ...rest] = value.split(":");
      const select = tools.querySelector(`select[data-label="${Number(at)}"]`);
      if (select) select.value = `=${rest.join(":")}`;
    } else if (key === "view" && field("view")) field("view").value = value;
    else if (key === "a" || key === "b") field(`compare-${key}`) && (field(`compare-${key}`).value = value);
  }
}

// How many of the filters in the folded sheet are set, so that none works unseen.
function countFolded() {
  const set = [...tools.querySelectorAll(".sheet select, .sheet input")].filter((one) => one.value !== "").length;
  byId("folded").textContent = set ? String(set) : "";
}
