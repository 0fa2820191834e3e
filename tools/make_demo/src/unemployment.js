import { geoIdentity, geoPath } from "d3-geo";
import { select } from "d3-selection";
import { zoom } from "d3-zoom";
import { feature, mesh } from "topojson-client";
import { counties as packed, states } from "virtual:data";

const steps = [4, 6, 8, 10, 12];
const colours = ["#fdeed9", "#fdcf9a", "#fba05f", "#e96440", "#c22b26", "#7a0c1c"];
const noData = "#d9d6d2";
const colour = (rate) => (rate == null ? noData : colours[steps.filter((s) => rate >= s).length]);

const topology = { type: "Topology", arcs: packed.arcs, transform: packed.transform };
const counties = { type: "GeometryCollection", geometries: packed.rows.map(([id, rate, arcs]) =>
  ({ type: Array.isArray(arcs[0][0]) ? "MultiPolygon" : "Polygon", id, arcs, properties: { rate } })) };

const svg = select("#map");
const { width, height } = svg.node().getBoundingClientRect();
svg.attr("viewBox", [0, 0, width, height]);
const all = feature(topology, counties);
// The outlines are already projected (Albers USA).
const path = geoPath(geoIdentity().fitExtent([[40, 20], [width - 40, height - 16]], all));
const layer = svg.append("g");
const tip = select("#tip");

layer.selectAll(".county").data(all.features).join("path")
  .attr("class", "county").attr("d", path).attr("fill", (d) => colour(d.properties.rate))
  .on("pointermove", (event, d) => tip.style("opacity", 1)
    .style("left", `${Math.min(event.offsetX + 14, width - 260)}px`).style("top", `${event.offsetY + 12}px`)
    .text(`${states[Math.floor(d.id / 1000)]}, county ${String(d.id).padStart(5, "0")}: `
      + (d.properties.rate == null ? "no data" : `${d.properties.rate.toFixed(1)} %`)))
  .on("pointerleave", () => tip.style("opacity", 0));
const state = (county) => Math.floor(county.id / 1000);
layer.append("path").attr("class", "states")
  .attr("d", path(mesh(topology, counties, (a, b) => state(a) !== state(b))));

const legend = select("#legend");
const box = 58;
legend.append("text").attr("x", 0).attr("y", 12).attr("font-size", 13).attr("font-weight", 700).text("Rate in per cent");
colours.forEach((fill, i) => {
  legend.append("rect").attr("x", i * box).attr("y", 20).attr("width", box).attr("height", 14).attr("fill", fill);
  if (i) legend.append("text").attr("x", i * box).attr("y", 49).attr("font-size", 12).attr("text-anchor", "middle")
    .text(steps[i - 1]);
});
legend.append("rect").attr("x", 6 * box + 22).attr("y", 20).attr("width", 24).attr("height", 14).attr("fill", noData);
legend.append("text").attr("x", 6 * box + 34).attr("y", 49).attr("font-size", 12).attr("text-anchor", "middle").text("no data");

svg.call(zoom().scaleExtent([1, 10]).translateExtent([[0, 0], [width, height]])
  .on("zoom", (event) => layer.attr("transform", event.transform)));
