import { geoIdentity, geoPath } from "d3-geo";
import { select } from "d3-selection";
import { feature } from "topojson-client";
import { states } from "virtual:data";

const colours = ["#edf8fb", "#b3cde3", "#8c96c6", "#8856a7", "#810f7c"];
const steps = [5, 7, 9, 11];
const klass = (rate) => steps.filter((s) => rate >= s).length;
const map = document.getElementById("map");
const all = feature(states, states.objects.states);
const path = geoPath(geoIdentity().fitSize([map.clientWidth, map.clientHeight || 1], all));

select(map).append("svg").attr("width", map.clientWidth).attr("height", map.clientHeight)
  .selectAll("path").data(all.features).join("path").attr("d", path)
  .attr("fill", (d) => colours[klass(d.properties.rate)]).attr("stroke", "#fff")
  .append("title").text((d) => `${d.properties.name}: ${d.properties.rate.toFixed(1)} %`);

select("#legend").selectAll("div").data(["under 5 %", "5 – 7 %", "7 – 9 %", "9 – 11 %", "11 % and more"]).join("div")
  .html((text, i) => `<i style="background:${colours[i]}"></i>${text}`);
