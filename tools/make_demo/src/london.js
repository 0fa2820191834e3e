import { geoMercator, geoPath } from "d3-geo";
import { select } from "d3-selection";
import { zoom } from "d3-zoom";
import { feature } from "topojson-client";
import { london } from "virtual:data";

const steps = [20, 40, 60, 100];
const colours = ["#e3f1ec", "#a9d9cb", "#62b7a8", "#23857d", "#0b4f4f"];
const names = ["under 20", "20 – 40", "40 – 60", "60 – 100", "100 and more"];
const klass = (km2) => steps.filter((s) => km2 >= s).length;
const short = {
  "Barking and Dagenham": ["Barking &", "Dagenham"], "City of London": ["City"],
  "Hammersmith and Fulham": ["H’smith &", "Fulham"], "Kensington and Chelsea": ["Kens. &", "Chelsea"],
  "Kingston upon Thames": ["Kingston"], "Richmond upon Thames": ["Richmond"],
  "Tower Hamlets": ["Tower", "Hamlets"], "Waltham Forest": ["Waltham", "Forest"],
};
const nudge = { "Hammersmith and Fulham": [-7, 6], "Kensington and Chelsea": [6, 6],
  "Richmond upon Thames": [6, 6], Islington: [0, -3], "Kingston upon Thames": [-2, -10], Hillingdon: [-4, 0], Hounslow: [-12, 0],
  Southwark: [-4, -8], Lambeth: [-1, 2], Hackney: [2, 0], Westminster: [4, -4], Merton: [4, 2], Wandsworth: [3, 0] };

const boroughs = feature(london, london.objects.boroughs).features;
const svg = select("svg");
const { width, height } = svg.node().getBoundingClientRect();
svg.attr("viewBox", [0, 0, width, height]);
const projection = geoMercator().fitExtent([[28, 34], [width - 28, height - 60]],
  { type: "FeatureCollection", features: boroughs });
const path = geoPath(projection);
const layer = svg.append("g");
const tip = select("#tip");

layer.selectAll(".borough").data(boroughs).join("path")
  .attr("class", "borough").attr("d", path).attr("fill", (d) => colours[klass(d.properties.km2)])
  .on("pointermove", (event, d) => tip.style("opacity", 1)
    .style("left", `${event.offsetX + 14}px`).style("top", `${event.offsetY + 10}px`)
    .text(`${d.properties.name}: ${d.properties.km2.toFixed(1)} km²`))
  .on("pointerleave", () => tip.style("opacity", 0));

layer.selectAll(".label").data(boroughs).join("text").attr("class", "label")
  .attr("transform", (d) => {
    const [x, y] = projection(d.properties.at);
    const [dx, dy] = nudge[d.properties.name] ?? [0, 0];
    return `translate(${x + dx},${y + dy})`;
  })
  .each(function (d) {
    const lines = short[d.properties.name] ?? [d.properties.name];
    const dark = klass(d.properties.km2) >= 3;
    const size = d.properties.km2 < 25 ? 10 : d.properties.km2 < 50 ? 11 : 12.5;
    select(this).attr("font-size", size).attr("fill", dark ? "#fff" : "#10302e")
      .attr("stroke", colours[klass(d.properties.km2)])
      .selectAll("tspan").data(lines).join("tspan").attr("x", 0)
      .attr("dy", (_, i) => (i ? "1.02em" : `${0.35 - (lines.length - 1) * 0.5}em`)).text((t) => t);
  });

// A scale bar of 10 km and a north arrow, both fixed while the map is moved.
const kmPerPixel = (40075.017 * Math.cos((51.49 * Math.PI) / 180)) / (2 * Math.PI * projection.scale());
const bar = svg.append("g").attr("transform", `translate(${width - 44 - 10 / kmPerPixel},${height - 34})`);
bar.append("path").attr("d", `M0,-6V0H${10 / kmPerPixel}V-6`).attr("fill", "none").attr("stroke", "#16302f");
bar.append("text").attr("x", 5 / kmPerPixel).attr("y", -6).attr("text-anchor", "middle").attr("font-size", 12)
  .attr("fill", "#16302f").text("10 km");
const north = svg.append("g").attr("transform", `translate(${width - 44},44)`);
north.append("path").attr("d", "M0,-16L7,8L0,3L-7,8Z").attr("fill", "#16302f");
north.append("text").attr("y", 24).attr("text-anchor", "middle").attr("font-size", 12).attr("fill", "#16302f").text("N");

const count = names.map((_, i) => boroughs.filter((b) => klass(b.properties.km2) === i).length);
select("#legend").selectAll("li").data(names).join("li")
  .html((name, i) => `<span style="background:${colours[i]};outline:1px solid #c9d8d4"></span>${name}<em>${count[i]}</em>`);
select("#largest").selectAll("li")
  .data([...boroughs].sort((a, b) => b.properties.km2 - a.properties.km2).slice(0, 5)).join("li")
  .html((d) => `${d.properties.name}<em>${d.properties.km2.toFixed(1)}</em>`);

svg.call(zoom().scaleExtent([1, 8]).on("zoom", (event) => layer.attr("transform", event.transform)));
