// Prepares the data and writes the HTML samples: node pages.mjs SUBMISSIONS PREPARED
// PREPARED takes the JSON files that the still pictures are drawn from.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { csvParse, tsvParse } from "d3-dsv";
import { geoAlbersUsa, geoArea, geoDistance } from "d3-geo";
import { feature, mesh, quantize } from "topojson-client";
import { filter, presimplify, simplify } from "topojson-simplify";
import { writePage } from "./page.mjs";

const EARTH_RADIUS_KM = 6371.0088;
const BUFFER_KM = 150;

const [submissions, prepared] = process.argv.slice(2);
const folder = "node_modules/vega-datasets/data";
const read = (name) => readFileSync(join(folder, name), "utf8");
const json = (name) => JSON.parse(read(name));
const keep = (name, value) => writeFileSync(join(prepared, name), JSON.stringify(value));
const only = (topology, object) => filter({ ...topology, objects: { [object]: topology.objects[object] } });
const smaller = (topology, leastArea, steps) => quantize(simplify(presimplify(topology), leastArea), steps);
// Drawn in the plane from the start: simplified on the sphere, a tiny island can turn inside out and fill the world.
const plane = geoAlbersUsa().scale(1300).translate([0, 0]);
const projected = (topology) => ({
  ...topology, transform: undefined, bbox: undefined,
  arcs: presimplify(topology).arcs.map((arc) => arc.map(([lon, lat]) => plane([lon, lat])).filter(Boolean)),
});
const clockwise = (polygon) => (geoArea(polygon) > 2 * Math.PI ? 4 * Math.PI - geoArea(polygon) : geoArea(polygon));

mkdirSync(prepared, { recursive: true });
for (const model of ["atlas-small-demo", "meridian-large-demo"]) mkdirSync(join(submissions, model), { recursive: true });

// --- London: the land area is measured on the simplified outlines --------------------------------
const london = json("londonBoroughs.json");
const centroids = Object.fromEntries(json("londonCentroids.json").map((c) => [c.name, [c.cx, c.cy]]));
for (const borough of london.objects.boroughs.geometries) {
  borough.properties = {
    name: borough.id,
    km2: Math.round(clockwise(feature(london, borough)) * EARTH_RADIUS_KM ** 2 * 10) / 10,
    at: centroids[borough.id],
  };
}
keep("london.json", london);

// --- United States: county rates, state names ----------------------------------------------------
const us = json("us-10m.json");
const rate = new Map(tsvParse(read("unemployment.tsv")).map((r) => [Number(r.id), Number(r.rate)]));
const stateName = Object.fromEntries(
  csvParse(read("population_engineers_hurricanes.csv")).map((r) => [Number(r.id), r.state]));
// Left out: empty outlines, territories, and the parts of states that are water (their number ends in 000).
us.objects.counties.geometries = us.objects.counties.geometries
  .filter((g) => g.arcs?.length && g.id < 60000 && g.id % 1000 !== 0);
us.objects.states.geometries = us.objects.states.geometries.filter((g) => g.id < 60);
const countyShapes = smaller(projected(only(us, "counties")), 2, 2200);
const counties = { // number, rate in per cent, outline: a third of the bytes that TopoJSON takes for the same
  arcs: countyShapes.arcs, transform: countyShapes.transform,
  rows: countyShapes.objects.counties.geometries.map((g) =>
    [g.id, rate.has(g.id) ? Math.round(rate.get(g.id) * 1000) / 10 : null, g.arcs]),
};
const stateShapes = smaller(projected(only(us, "states")), 3, 1500);
for (const state of stateShapes.objects.states.geometries) {
  const rates = [...rate].filter(([id]) => Math.floor(id / 1000) === state.id).map(([, value]) => value);
  const mean = rates.reduce((a, b) => a + b, 0) / rates.length;
  state.properties = { name: stateName[state.id], rate: Math.round(mean * 1000) / 10 };
}
const finerStates = smaller(only(us, "states"), 1e-4, 20000);
for (const state of finerStates.objects.states.geometries) state.properties = { name: stateName[state.id] };
keep("states.json", finerStates);

// --- World ---------------------------------------------------------------------------------------
const world = json("world-110m.json");
const land = only(world, "land");
keep("world.json", world);
keep("countries.json", feature(world, world.objects.countries));
keep("coast.json", mesh(world, world.objects.countries));

// --- Earthquakes ---------------------------------------------------------------------------------
const quakes = json("earthquakes.json").features
  .filter((q) => q.properties.type === "earthquake" && q.properties.mag >= 4.5)
  .map((q) => ({
    lon: q.geometry.coordinates[0], lat: q.geometry.coordinates[1], depth: q.geometry.coordinates[2],
    mag: q.properties.mag, place: q.properties.place, day: new Date(q.properties.time).toISOString().slice(0, 10),
  }))
  .sort((a, b) => b.mag - a.mag);
keep("quakes.json", quakes);

// --- Airports ------------------------------------------------------------------------------------
const capital = json("us-state-capitals.json").find((c) => c.city === "Austin");
const austin = [capital.lon, capital.lat];
const airports = csvParse(read("airports.csv"))
  .map((a) => ({ code: a.iata, name: a.name, state: a.state, lon: Number(a.longitude), lat: Number(a.latitude) }));
keep("airports.json", airports);
const texasAirports = airports.filter((a) => a.state === "TX").map((a) => ({
  code: a.code, name: a.name, at: [Number(a.lat.toFixed(4)), Number(a.lon.toFixed(4))],
  km: Math.round(geoDistance([a.lon, a.lat], austin) * EARTH_RADIUS_KM),
}));
const texas = feature(finerStates, finerStates.objects.states.geometries.find((g) => g.id === 48));
const rounded = JSON.parse(JSON.stringify(texas), (_, v) => (typeof v === "number" ? Number(v.toFixed(3)) : v));

// --- Precipitation -------------------------------------------------------------------------------
keep("precipitation.json", json("annual-precip.json"));

// --- the pages -----------------------------------------------------------------------------------
const page = (name, data, file) => writePage(`src/${name}.js`, data, `src/${name}.html`, join(submissions, file));
await page("london", { london }, "atlas-small-demo/london-boroughs.html");
await page("unemployment", { counties, states: stateName }, "meridian-large-demo/us-unemployment.html");
await page("blank", { states: stateShapes }, "atlas-small-demo/us-unemployment.html");
await page("quakes", { land, quakes }, "atlas-small-demo/pacific-earthquakes.html");
await page("leaflet", { texas: rounded, airports: texasAirports, austin: [austin[1], austin[0]], radius: BUFFER_KM * 1000 },
  "meridian-large-demo/austin-airports.html");
