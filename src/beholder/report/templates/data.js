// ---- the data: cards at once, stories and texts when they are asked for ------------------------

const page = JSON.parse(byId("page-data").textContent);
const items = page.items;
items.forEach((item, index) => { item.index = index; });

async function inflate(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// The last packs looked at; stepping from item to item stays in one.
const packs = new Map();
function pack(id) {
  if (!packs.has(id)) {
    packs.set(id, inflate(id));
    if (packs.size > 6) packs.delete(packs.keys().next().value);
  }
  return packs.get(id);
}

const fromPack = async (name, size, index) => (await pack(`${name}-${Math.floor(index / size)}`))[index % size];

async function storyOf(index) {
  const [story, verbatim] = await Promise.all([
    fromPack("story", page.stories, index), fromPack("text", page.texts, index),
  ]);
  return { ...story, index, verbatim };
}

// ---- addresses: an item can be linked, and Back closes it --------------------------------------

// URLSearchParams mends half surrogate pairs, which encodeURIComponent would throw at.
const params = (pairs) => `#${new URLSearchParams(pairs)}`;

function address(item, other = null) {
  const pairs = [["task", item.task], ["model", page.models[item.model]]];
  if (other !== null) pairs.push(["with", page.models[other]]);
  return params(pairs);
}

const byAddress = new Map(items.map((item) => [address(item), item]));
const byTask = new Map();
for (const item of items) {
  if (!byTask.has(item.at)) byTask.set(item.at, []);
  byTask.get(item.at)[item.model] = item;
}

const ofTask = (item) => (byTask.get(item.at) || []).filter(Boolean);

// ---- words to search in ------------------------------------------------------------------------

const told = (kind, code) => `${code} ${(page.codes[kind] || {})[code] || ""}`;

const cardText = items.map((item) => [
  item.task, page.models[item.model], ...(item.labels || []),
  item.reason ? told("reasons", item.reason) : "",
  ...(item.flags || []).map((code) => told("flags", code)),
  ...(item.warnings || []).map((code) => told("warnings", code)),
].join("\n").toLowerCase());

function storyText(story) {
  const notes = [...story.warnings, ...story.not_shown, story.reason].filter(Boolean);
  return [
    ...notes.flatMap((note) => [note.detail, note.source]),
    ...story.files.map((file) => file.source),
    ...story.repeats.flatMap((repeat) => [repeat.rationale, repeat.reason ? repeat.reason.code : ""]),
  ].join("\n").toLowerCase();
}

// Cards are searched at once; the judge's words as soon as they are unpacked, once.
const words = { texts: [], done: items.length === 0, running: null };
function unpackWords() {
  words.running ||= (async () => {
    for (let start = 0; start < items.length; start += page.stories) {
      const stories = await inflate(`story-${start / page.stories}`);
      stories.forEach((story, offset) => { words.texts[start + offset] = storyText(story); });
      if (start % (10 * page.stories) === 0) await new Promise((rest) => { setTimeout(rest); });
    }
    words.done = true;
  })();
  return words.running;
}
