// Leaflet comes from an outside host: without the network there is no `L` and no map.
import { airports, austin, radius, texas } from "virtual:data";

const map = L.map("map").setView(austin, 7);
L.geoJSON(texas, { style: { color: "#5f7186", weight: 1.5, fillColor: "#fbfaf6", fillOpacity: 1 } }).addTo(map);
L.circle(austin, { radius, color: "#d1495b", weight: 2, fillColor: "#d1495b", fillOpacity: 0.12 }).addTo(map);
L.circleMarker(austin, { radius: 7, color: "#fff", weight: 2, fillColor: "#1f2f46", fillOpacity: 1 })
  .bindTooltip("Austin", { permanent: true, direction: "right" }).addTo(map);

const inside = airports.filter((a) => a.km * 1000 <= radius);
for (const a of airports) {
  const near = a.km * 1000 <= radius;
  L.circleMarker(a.at, { radius: near ? 5 : 3.5, color: "#fff", weight: 1, fillColor: near ? "#d1495b" : "#8b98a7", fillOpacity: 1 })
    .bindTooltip(`${a.name} (${a.code}), ${a.km} km`).addTo(map);
}
const legend = L.control({ position: "bottomleft" });
legend.onAdd = () => {
  const box = L.DomUtil.create("div", "legend");
  box.innerHTML = `<i style="background:#d1495b"></i>inside 150 km: ${inside.length}<br>`
    + `<i style="background:#8b98a7"></i>elsewhere in Texas: ${airports.length - inside.length}`;
  return box;
};
legend.addTo(map);
L.control.scale({ imperial: false }).addTo(map);
