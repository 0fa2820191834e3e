import { geoNaturalEarth1, geoPath } from "d3-geo";
import { select } from "d3-selection";
import { land, quakes } from "virtual:data";

const map = document.getElementById("map");
const svg = select(map).append("svg").attr("viewBox", [0, 0, map.clientWidth, map.clientHeight]);
const projection = geoNaturalEarth1().rotate([-170, 0])
  .fitExtent([[12, 12], [map.clientWidth - 12, map.clientHeight - 12]], { type: "Sphere" });
const path = geoPath(projection);

// The fault of this sample: the library is used, but neither imported nor loaded, so the script stops here.
const continents = topojson.feature(land, land.objects.land);

svg.append("path").datum(continents).attr("d", path).attr("fill", "#2b3f58");
svg.selectAll("circle").data(quakes).join("circle")
  .attr("transform", (d) => `translate(${projection([d.lon, d.lat])})`)
  .attr("r", (d) => 1.6 ** (d.mag - 3))
  .attr("fill", (d) => (d.depth < 70 ? "#ffd166" : d.depth < 300 ? "#f3722c" : "#d7263d"))
  .attr("fill-opacity", 0.75)
  .append("title").text((d) => `M ${d.mag}, ${d.place}`);
